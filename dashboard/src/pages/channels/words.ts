import type { Channel } from "../../shared/channels";
import type { Look } from "../../shared/ui/StatusBadge";
import type { CredentialCheck } from "./queries";

const QUALITIES: Record<string, Look> = {
  GREEN: { label: "High", color: "teal" },
  YELLOW: { label: "Medium", color: "yellow" },
  RED: { label: "Low", color: "red" },
};

/** The quality of a number, in words; null while the network has not rated it. */
export function qualityLook(quality: string | null): Look | null {
  return quality ? (QUALITIES[quality] ?? { label: "Not rated yet", color: "gray" }) : null;
}

const KINDS: Record<string, string> = { official: "Official number", qr: "Linked by QR code" };

export function kindWords(kind: string): string {
  return KINDS[kind] ?? kind;
}

const CHECKS: Record<CredentialCheck["name"], string> = {
  token: "Access token",
  permissions: "Permissions",
  number: "Phone number",
  app_secret: "App secret",
  business_account: "Business account",
  subscription: "Callbacks",
};

export function checkLabel(name: CredentialCheck["name"]): string {
  return CHECKS[name];
}

type Limit = { limit: number | null; used: number };

/** How much of a limit is used: "12 of 1,000", and the share for a bar; without a limit there is no bar. */
export function usage({ limit, used }: Limit): { text: string; share: number | null } {
  if (limit === null) return { text: `${used.toLocaleString("en")} · no limit`, share: null };
  const share = limit === 0 ? 100 : Math.min(100, (used / limit) * 100);
  return { text: `${used.toLocaleString("en")} of ${limit.toLocaleString("en")}`, share };
}

export function shareColor(share: number): string {
  return share >= 100 ? "red" : share >= 80 ? "orange" : "teal";
}

/** Whether a channel needs its owner: it cannot send or receive until something is done. */
export function needsHelp(channel: Pick<Channel, "connection" | "token_rejected_at">): boolean {
  return Boolean(channel.token_rejected_at) || ["banned", "logged_out"].includes(channel.connection);
}
