import type { Look } from "../../shared/ui/StatusBadge";
import type { Delivery, Retried, Webhook } from "./queries";

/** The event types that an endpoint can switch on and off, in the words of the interface. */
export const EVENT_TYPES = [
  { type: "message_notification", label: "Messages", text: "Sent, received, edited, deleted" },
  { type: "ack_notification", label: "Statuses", text: "Delivered and read, and the connection" },
  { type: "chat_notification", label: "Conversations", text: "New or changed" },
  { type: "label_notifications", label: "Labels", text: "Created, added, removed" },
  { type: "contact_notifications", label: "Contacts", text: "New or changed" },
  { type: "order_notifications", label: "Orders", text: "New, or a new status" },
  { type: "system_notification", label: "System", text: "Endpoints, templates, quality and tier" },
] as const;

/** On at a new endpoint only if a person switches it on. */
export const OFF_AT_FIRST = "system_notification";

const TYPE_LABELS: Record<string, string> = Object.fromEntries(EVENT_TYPES.map(({ type, label }) => [type, label]));

export function typeLabel(type: string): string {
  return TYPE_LABELS[type] ?? type;
}

const EVENTS: Record<string, string> = {
  "message_notification created": "New message",
  "message_notification updated": "Message changed",
  "ack_notification message": "Message status",
  "ack_notification connection": "Connection",
  "chat_notification created": "New conversation",
  "chat_notification updated": "Conversation changed",
  "label_notifications created": "New label",
  "label_notifications updated": "Label changed",
  "label_notifications deleted": "Label deleted",
  "label_notifications assigned": "Label put on",
  "label_notifications removed": "Label taken off",
  "contact_notifications created": "New contact",
  "contact_notifications updated": "Contact changed",
  "order_notifications created": "New order",
  "order_notifications updated": "Order changed",
  "system_notification endpoint_failing": "Endpoint fails",
  "system_notification endpoint_paused": "Endpoint paused",
  "system_notification endpoint_resumed": "Endpoint resumed",
  "system_notification endpoint_disabled": "Endpoint turned off",
  "system_notification endpoint_enabled": "Endpoint turned on",
  "system_notification endpoint_exhausted": "Deliveries given up",
  "system_notification template_approved": "Template approved",
  "system_notification template_rejected": "Template rejected",
  "system_notification template_paused": "Template paused",
  "system_notification template_disabled": "Template disabled",
  "system_notification number_quality_changed": "Quality changed",
  "system_notification number_tier_changed": "Tier changed",
};

/** What happened, in a few words. */
export function eventWords({ type, action }: { type: string; action: string | null }): string {
  return EVENTS[`${type} ${action}`] ?? typeLabel(type);
}

export const HTTP = ["2xx", "3xx", "4xx", "5xx", "none"] as const;
export type HttpClass = (typeof HTTP)[number];

/** What an endpoint answered, as a class of HTTP statuses. */
export function httpLabel(http: HttpClass): string {
  return http === "none" ? "No answer" : http;
}

export const STATUSES = ["pending", "delivered", "exhausted", "dropped", "canceled"] as const;
export type Status = (typeof STATUSES)[number];

const STATUS_LOOKS: Record<Status, Look> = {
  pending: { label: "Waiting", color: "yellow" },
  delivered: { label: "Delivered", color: "teal" },
  exhausted: { label: "Failed", color: "red" },
  dropped: { label: "Dropped", color: "gray" },
  canceled: { label: "Canceled", color: "gray" },
};

/** How the status of a delivery looks. One that waits after a failed attempt is shown as such. */
export function statusLook(delivery: Pick<Delivery, "status" | "attempt_count">): Look {
  if (delivery.status === "pending" && delivery.attempt_count > 0) return { label: "Retrying", color: "orange" };
  return STATUS_LOOKS[delivery.status];
}

export function statusLabel(status: Status): string {
  return STATUS_LOOKS[status].label;
}

const STATE_LOOKS: Record<Webhook["state"], Look> = {
  active: { label: "Active", color: "teal" },
  paused: { label: "Paused", color: "orange" },
  disabled: { label: "Off", color: "gray" },
};

/** How an endpoint looks: one that is active but fails is shown as failing. */
export function endpointLook(endpoint: Pick<Webhook, "state" | "failing_since">): Look {
  if (endpoint.state === "active" && endpoint.failing_since) return { label: "Failing", color: "red" };
  return STATE_LOOKS[endpoint.state];
}

/** What became of deliveries that were to be tried again; for those that cannot be, the first reason. */
export function retryWords({ accepted, refused, results }: Retried): string {
  const tried = accepted === 1 ? "1 delivery is tried again now" : `${accepted} deliveries are tried again now`;
  if (!refused) return `${tried}.`;
  const { message } = (results.find(({ error }) => error)?.error ?? {}) as { message?: string };
  return accepted ? `${tried}, ${refused} cannot be: ${message}` : (message ?? "It cannot be tried again.");
}
