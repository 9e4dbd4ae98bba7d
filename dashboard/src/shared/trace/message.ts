import type { Look } from "../ui/StatusBadge";
import type { Trace } from "./queries";

type Message = Trace["message"];

const LOOKS: Record<Message["status"], Look> = {
  SCHEDULED: { label: "Scheduled", color: "yellow" },
  PENDING: { label: "Waiting", color: "yellow" },
  SENT: { label: "Sent", color: "teal" },
  DELIVERED: { label: "Delivered", color: "teal" },
  READ: { label: "Read", color: "teal" },
  PLAYED: { label: "Played", color: "teal" },
  FAILED: { label: "Failed", color: "red" },
  EXPIRED: { label: "Expired", color: "red" },
  CANCELED: { label: "Canceled", color: "gray" },
  RECEIVED: { label: "Received", color: "teal" },
};

export function messageLook({ status }: Pick<Message, "status">): Look {
  return LOOKS[status];
}

/** The text of a message, or what kind of message it is. */
export function messageWords({ type, content }: Pick<Message, "type" | "content">): string {
  const { body, caption, name } = content as Record<string, unknown>;
  const words = [body, caption, name].find((one) => typeof one === "string" && one);
  return typeof words === "string" ? words : `Message of the type “${type}”`;
}

/** Who sent an outgoing message. */
export function senderWords({ sent_by }: Pick<Message, "sent_by">): string | null {
  if (!sent_by) return null;
  const name = sent_by.label ?? sent_by.id;
  switch (sent_by.kind) {
    case "key":
      return `By the API key “${name}”`;
    case "phone":
      return "On the phone of the channel";
    case "operator":
      return "By the operator of the gateway";
    default:
      return `By ${name}`;
  }
}
