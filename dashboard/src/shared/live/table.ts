import type { GatewayEvent, Notice } from "./follow";

const SESSION = "session"; // what is known of the person and the account

/**
 * What an event changes: the kinds of queries of its channel that are asked again, and with a slash in front those of
 * the account. A kind with a second word has a pace of its own. A line for one action, such as "ack_notification
 * connection", is taken instead of that of its type.
 */
const CHANGES: Record<string, string[]> = {
  message_notification: [
    ...["conversations", "conversation", "thread", "counts", "trace"],
    ...["/channels", "/checklist", "/plan", "/usage"],
  ],
  ack_notification: ["conversations", "conversation", "thread", "trace", "/usage"],
  "ack_notification connection": ["info", "/channels connection", "/checklist"],
  chat_notification: ["conversations", "conversation", "counts", "/channels"],
  label_notifications: ["labels", "contacts", "conversations", "conversation"],
  contact_notifications: ["contacts", "orders", "conversations", "conversation"],
  order_notifications: ["orders"],
  system_notification: ["templates", "webhooks state", "info", "/channels connection"],
  "system_notification number_quality_changed": ["info", "health", "/channels connection"],
  "system_notification number_tier_changed": ["info", "health", "/channels connection"],
};

/** What a notice changes; those about the account are named by their resource. */
const NOTICED: Record<string, string[]> = {
  channel_changed: ["info", "templates", "/channels connection", "/checklist", "/plan notice"],
  users: ["/users", SESSION],
  plan: ["/plan notice", "/mcp", SESSION],
  views: ["/views"],
  log: ["/log"],
  files: ["/plan", "/usage"],
  keys: ["keys"],
  refused_requests: ["refused"],
  notes: ["notes"],
  templates: ["templates", "/channels connection"],
  webhooks: ["webhooks", "/channels connection", "/checklist"],
  recoveries: ["recoveries"],
  deliveries: ["deliveries", "webhooks", "trace"],
  drafts: ["drafts"],
  mcp_handovers: ["handovers"],
  mcp_policies: ["policies"],
  mcp_calls: ["calls"],
};

/** Every event is delivered to webhooks. */
const DELIVERED = ["deliveries", "webhooks"];

/** Milliseconds between two requests for the same, where it is not a second. */
export const PACE: Record<string, number> = {
  counts: 8_000,
  calls: 2_000,
  deliveries: 2_000,
  webhooks: 5_000,
  "/channels": 30_000,
  "/checklist": 3_000,
  "/plan": 10_000,
  "/usage": 10_000,
};

/** Asked once more: deliveries are made after their event, and the gateway remembers a session for a moment. */
export const TWICE = new Set([...DELIVERED, "trace", SESSION]);

export type Change = { channel: string; kind: string };

export function changesOf(event: GatewayEvent): Change[] {
  const own = CHANGES[`${event.type} ${event.action}`] ?? CHANGES[event.type] ?? [];
  return named(event.channel.id, [...own, ...DELIVERED]);
}

export function changesOfNotice({ name, data }: Notice): Change[] {
  const channel = data.channel as { id: string } | null | undefined;
  return named(channel?.id ?? "", NOTICED[name === "account_changed" ? String(data.resource) : name]);
}

/** Whether a notice says that others were lost. */
export function isAboutAll({ name, data }: Notice): boolean {
  return name === "account_changed" && data.resource === "all";
}

const kinds = new Set(
  Object.values(NOTICED).flatMap((list) => list.map((kind) => keyOf({ channel: "", kind }).at(-1))),
);

/** Whether notices keep a query up to date, which are not repeated after a lost connection as events are. */
export function isNoticed(queryKey: readonly unknown[]): boolean {
  const [scope, first, second] = queryKey;
  return kinds.has(String(scope === "channel" ? second : scope === "account" ? first : scope));
}

function named(channel: string, kinds: string[] = []): Change[] {
  return kinds.map((kind) => ({ channel, kind }));
}

/** Changes with the same name are made together. */
export function nameOf(change: Change): string {
  return change.kind.startsWith("/") ? change.kind : `${change.channel} ${change.kind}`;
}

/** The key of the queries that a change is about. */
export function keyOf({ channel, kind }: Change): string[] {
  if (kind === SESSION) return [kind];
  const [name = ""] = kind.split(" ");
  return name.startsWith("/") ? ["account", name.slice(1)] : ["channel", channel, name];
}
