import type { Channel } from "./channels";
import type { Look } from "./ui/StatusBadge";

const WORDS: Record<string, string> = {
  connected: "Connected",
  connecting: "Connecting",
  waiting_for_scan: "Waiting for the QR code to be scanned",
  disconnected: "Not connected",
  logged_out: "Logged out",
  banned: "Banned by the network",
  limited: "Limited by the network",
};

const COLORS: Record<string, string> = {
  connected: "teal",
  connecting: "yellow",
  waiting_for_scan: "yellow",
  limited: "orange",
};

type State = Pick<Channel, "connection" | "token_rejected_at">;

/** How the connection of a channel is shown. A token that the network rejects is more urgent than anything else. */
export function connectionLook({ connection, token_rejected_at }: State): Look {
  if (token_rejected_at) return { label: "Access token rejected", color: "red" };
  return { label: WORDS[connection] ?? connection, color: COLORS[connection] ?? "red" };
}
