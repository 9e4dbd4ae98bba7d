/** Whether a business is online, in words. */

import type { Presence } from "../../shared/types";
import { clockTime, dayLabel } from "./times";

export function isOnline(presence: Presence | null, now: number): boolean {
  return presence?.online === true && (presence.until === null || now < presence.until);
}

/** Return "online", "last seen 14:05", "last seen Yesterday 14:05", or nothing. */
export function presenceWord(presence: Presence | null, now: number): string {
  if (isOnline(presence, now)) return "online";
  if (!presence?.last_seen) return "";
  const day = dayLabel(presence.last_seen, now);
  return ["last seen", day === "Today" ? "" : day, clockTime(presence.last_seen)].filter(Boolean).join(" ");
}
