/** The profile of a person. */

import type { Person } from "../../shared/types";

/** Return until when a person is offline: null for online, Infinity for "until ended". */
export function offlineUntil(profile: Person | null, now: number): number | null {
  if (!profile?.offline) return null;
  const until = profile.offline_until ?? Number.POSITIVE_INFINITY;
  return until > now ? until : null;
}
