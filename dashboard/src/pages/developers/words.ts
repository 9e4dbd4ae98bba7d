import type { Look } from "../../shared/ui/StatusBadge";
import type { ApiKey } from "./queries";

export const SCOPES = [
  { value: "send", label: "Send", text: "Send, edit, cancel and delete messages" },
  { value: "read", label: "Read", text: "Read messages, contacts, events and everything else" },
  { value: "manage", label: "Manage", text: "Change contacts, templates, webhooks and the channel" },
  { value: "mcp", label: "MCP", text: "Use the channel from an AI assistant" },
] as const;
export type Scope = (typeof SCOPES)[number]["value"];

export const EXPIRIES = [
  { value: "0", label: "Never" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
];

export const OVERLAPS = [
  { value: "0", label: "Stops at once" },
  { value: "3600", label: "Works for another hour" },
  { value: "86400", label: "Works for another day" },
  { value: "604800", label: "Works for another week" },
];

const DAY_MS = 86_400_000;

/** The time in so many days; undefined for none. */
export function inDays(days: string, now: number): string | undefined {
  return days === "0" ? undefined : new Date(now + Number(days) * DAY_MS).toISOString();
}

type Life = Pick<ApiKey, "revoked_at" | "expires_at">;

export function isOver(key: Life, now: number): boolean {
  return key.revoked_at !== null || (key.expires_at !== null && Date.parse(key.expires_at) <= now);
}

export function keyLook(key: Life, now: number): Look {
  if (key.revoked_at !== null) return { label: "Revoked", color: "gray" };
  if (isOver(key, now)) return { label: "Expired", color: "gray" };
  if (key.expires_at !== null && Date.parse(key.expires_at) - now < 7 * DAY_MS) {
    return { label: "Expires soon", color: "orange" };
  }
  return { label: "Active", color: "teal" };
}

/** How a status of HTTP looks. */
export function statusLook(status: number): Look {
  return { label: String(status), color: status < 400 ? "teal" : status < 500 ? "orange" : "red" };
}
