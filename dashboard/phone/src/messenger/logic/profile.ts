/** The profile of a person, as it is read and written. */

import type { Person } from "../../shared/types";

// What `GET` adds to what `PUT` takes.
const READ_ONLY = new Set(["phone", "offline", "offline_until", "configured"]);

/** Return what is written back, so that changing one thing keeps the rest. */
export function writableProfile(profile: Person | null, name: string): Record<string, unknown> {
  if (!profile) return { name };
  return Object.fromEntries(Object.entries(profile).filter(([key, value]) => !READ_ONLY.has(key) && value !== null));
}

/** Return until when a person is offline: null for online, Infinity for "until ended". */
export function offlineUntil(profile: Person | null, now: number): number | null {
  const until = (profile as { offline_until?: number | "ended" | null } | null)?.offline_until;
  if (until === undefined || until === null) return null;
  if (typeof until !== "number") return Number.POSITIVE_INFINITY;
  return until > now ? until : null;
}
