import type { Look } from "../../shared/ui/StatusBadge";
import type { LogEntry, User } from "./queries";

export const ROLES = [
  { value: "owner", label: "Owner", description: "May do everything: channels, keys, people and the plan." },
  { value: "agent", label: "Agent", description: "Answers people: sends, and changes contacts and orders." },
  { value: "reader", label: "Reader", description: "Sees everything of the channels, and changes nothing." },
];

const COLORS: Record<string, string> = { owner: "teal", agent: "gray", reader: "gray" };

export function roleLook(role: string): Look {
  return { label: ROLES.find((one) => one.value === role)?.label ?? role, color: COLORS[role] ?? "gray" };
}

/** Whether a person has joined, and signs in with a code. */
export function joinLook(user: User): Look {
  if (user.invited) return { label: "Invited", color: "yellow" };
  return user.two_factor ? { label: "On", color: "teal" } : { label: "Off", color: "gray" };
}

const ACTIONS: Record<string, string> = {
  signed_in: "Signed in",
  sign_in_failed: "Failed to sign in",
  signed_out_everywhere: "Signed out everywhere",
  password_changed: "Changed the password",
  totp_enabled: "Turned on two-factor authentication",
  totp_disabled: "Turned off two-factor authentication",
  recovery_codes_replaced: "Replaced the recovery codes",
  user_created: "Created a user",
  role_changed: "Changed a role",
  user_deleted: "Removed a user",
  invitation_created: "Invited a user",
  invitation_accepted: "Accepted an invitation",
  reset_link_created: "Created a reset link",
  reset_link_used: "Used a reset link",
  channel_created: "Created a channel",
  channel_changed: "Changed a channel",
  channel_deleted: "Deleted a channel",
  key_created: "Created a key",
  key_rotated: "Rotated a key",
  key_revoked: "Revoked a key",
  mcp_policy_changed: "Changed the rules of an assistant",
  mcp_stopped: "Stopped all assistants",
  mcp_resumed: "Let all assistants work again",
};

export const ACTION_OPTIONS = Object.entries(ACTIONS).map(([value, label]) => ({ value, label }));

export function actionWords(action: string): string {
  return ACTIONS[action] ?? action.replaceAll("_", " ");
}

/** The details of an entry in one line: "owner → agent", "name: Shop, scopes: send, read". */
export function detailWords({ details }: Pick<LogEntry, "details">): string {
  const { before, after, ...rest } = details as Record<string, unknown>;
  const change = before !== undefined && after !== undefined ? [`${shown(before)} → ${shown(after)}`] : [];
  return [
    ...change,
    ...Object.entries(rest).map(([name, value]) => `${name.replaceAll("_", " ")}: ${shown(value)}`),
  ].join(", ");
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return value.map(shown).join(", ");
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}
