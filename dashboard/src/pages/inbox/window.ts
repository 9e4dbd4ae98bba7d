/** What may be written now: anything, or only templates. */
export type WindowState = { open: true; left: number | null } | { open: false; ever: boolean };

const HOUR = 3_600_000;
const MINUTE = 60_000;
export const SOON = 2 * HOUR;

/** Whether the 24-hour window of a conversation is open. `left` is null where the channel has no window. */
export function readWindow(channelHasWindow: boolean, endsAt: string | null, now: number): WindowState {
  if (!channelHasWindow) return { open: true, left: null };
  const left = endsAt === null ? 0 : new Date(endsAt).getTime() - now;
  return left > 0 ? { open: true, left } : { open: false, ever: endsAt !== null };
}

/** "23 h 59 min", "12 min", "less than a minute". */
export function timeLeft(milliseconds: number): string {
  if (milliseconds < MINUTE) return "less than a minute";
  const hours = Math.floor(milliseconds / HOUR);
  const minutes = Math.floor((milliseconds % HOUR) / MINUTE);
  return hours ? `${hours} h ${minutes} min` : `${minutes} min`;
}
