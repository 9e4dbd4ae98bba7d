import type { GatewayEvent, Notice } from "./follow";

/**
 * What an event changes: the kinds of queries of its channel that are asked again, and with a slash in front those of
 * the account, where a second word has a pace of its own. A line for one action, such as "ack_notification connection",
 * is taken instead of that of its type.
 */
const CHANGES: Record<string, string[]> = {
  message_notification: ["conversations", "conversation", "thread", "counts", "trace", "/channels"],
  ack_notification: ["conversations", "conversation", "thread", "trace"],
  "ack_notification connection": ["info", "/channels connection"],
  chat_notification: ["conversations", "conversation", "counts", "/channels"],
  label_notifications: ["labels", "contacts", "conversations", "conversation"],
  contact_notifications: ["contacts", "orders", "conversations", "conversation"],
  order_notifications: ["orders"],
  system_notification: ["templates", "info", "/channels connection"],
  "system_notification number_quality_changed": ["info", "health", "/channels connection"],
  "system_notification number_tier_changed": ["info", "health", "/channels connection"],
  channel_changed: ["info", "templates", "/channels connection"],
};

/** Every event is delivered to webhooks. */
const DELIVERED = ["deliveries", "webhooks"];

/** Milliseconds between two requests for the same, where it is not a second. */
export const PACE: Record<string, number> = { counts: 5_000, "/channels": 10_000, deliveries: 2_000, webhooks: 5_000 };

/** Deliveries are made after their event: they are asked once more. */
export const TWICE = new Set([...DELIVERED, "trace"]);

export type Change = { channel: string; kind: string };

export function changesOf(event: GatewayEvent): Change[] {
  const own = CHANGES[`${event.type} ${event.action}`] ?? CHANGES[event.type] ?? [];
  return named(event.channel.id, [...own, ...DELIVERED]);
}

export function changesOfNotice({ name, data }: Notice): Change[] {
  const channel = data.channel as { id: string } | undefined;
  return channel ? named(channel.id, CHANGES[name]) : [];
}

function named(channel: string, kinds: string[] = []): Change[] {
  return kinds.map((kind) => ({ channel, kind }));
}

/** Changes with the same name are made together. */
export function nameOf(change: Change): string {
  return change.kind.startsWith("/") ? change.kind : keyOf(change).join(" ");
}

/** The key of the queries that a change is about. */
export function keyOf({ channel, kind }: Change): string[] {
  return kind.startsWith("/") ? ["account", kind.slice(1).split(" ", 1).join()] : ["channel", channel, kind];
}
