/** Times as a messenger shows them. All times are Unix seconds of the sandbox's clock. */

const DAY = 86_400;

/** Return "14:05". */
export function clockTime(at: number): string {
  return new Date(at * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}

/** Return the time for a status bar, where there is no room for "AM". */
export function barTime(at: number): string {
  return clockTime(at).replace(/\s*[AP]\.?M\.?$/i, "");
}

/** Return the local date as a key, such as "2026-11-16". */
export function dayKey(at: number): string {
  const date = new Date(at * 1000);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** Return "Today", "Yesterday", a weekday within the last week, else the date. */
export function dayLabel(at: number, now: number): string {
  const key = dayKey(at);
  if (key === dayKey(now)) return "Today";
  if (key === dayKey(now - DAY)) return "Yesterday";
  const date = new Date(at * 1000);
  if (at < now && now - at < 6 * DAY) return date.toLocaleDateString([], { weekday: "long" });
  return date.toLocaleDateString([], { day: "numeric", month: "long", year: "numeric" });
}

/** Return the time of today, or the day: for the chat list. */
export function shortTime(at: number, now: number): string {
  const label = dayLabel(at, now);
  if (label === "Today") return clockTime(at);
  if (label === "Yesterday" || now - at < 6 * DAY) return label;
  return new Date(at * 1000).toLocaleDateString([], { day: "2-digit", month: "2-digit", year: "2-digit" });
}

/** Return "0:07" or "12:30". */
export function duration(seconds: number): string {
  const whole = Number.isFinite(seconds) ? Math.max(0, Math.floor(seconds)) : 0;
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

/** Return "23 h", "5 min" or "less than a minute" until a time, or null when it has passed. */
export function timeLeft(until: number, now: number): string | null {
  const left = Math.floor(until - now);
  if (left <= 0) return null;
  const [hours, minutes] = [Math.floor(left / 3600), Math.floor((left % 3600) / 60)];
  if (hours >= 48) return `${Math.floor(hours / 24)} days`;
  if (hours) return `${hours} h`;
  return minutes ? `${minutes} min` : "less than a minute";
}
