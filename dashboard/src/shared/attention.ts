import type { Channel } from "./channels";
import { connectionLook } from "./connection";

type State = Pick<Channel, "connection" | "token_rejected_at">;

/** Whether a channel cannot work until somebody does something. */
export function isBroken(channel: State): boolean {
  return connectionLook(channel).color === "red" && channel.connection !== "disconnected";
}

/** Whether the network rates the number so low that it may restrict it. */
export function isLowQuality({ quality }: Pick<Channel, "quality">): boolean {
  return quality === "RED";
}

export type Counts = { "/channels": number; "/webhooks": number; "/templates": number };

/** How much on each page needs a person: of all channels, and of the one that the page is about. */
export function attentionOf(channels: Channel[], current: Channel | undefined): Counts {
  return {
    "/channels": channels.filter((channel) => isBroken(channel) || isLowQuality(channel)).length,
    "/webhooks": current?.attention.endpoints ?? 0,
    "/templates": current?.attention.templates ?? 0,
  };
}
