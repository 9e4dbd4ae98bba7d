import { gatewayNow } from "./gatewayTime";

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["second", 60],
  ["minute", 60],
  ["hour", 24],
  ["day", 30],
  ["month", 12],
  ["year", Number.POSITIVE_INFINITY],
];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const short = new Intl.DateTimeFormat(undefined, {
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});

/** "3 minutes ago", "in 2 hours"; "just now" within five seconds. */
export function ago(time: string, now: number = gatewayNow()): string {
  let amount = (new Date(time).getTime() - now) / 1000;
  if (Math.abs(amount) < 5) return "just now";
  for (const [unit, size] of STEPS) {
    if (Math.abs(amount) < size) return relative.format(Math.round(amount), unit);
    amount /= size;
  }
  return absolute.format(new Date(time));
}

/** A time in full, in the time zone of the viewer. */
export function inFull(time: string): string {
  return absolute.format(new Date(time));
}

const exact = new Intl.DateTimeFormat(undefined, {
  year: "numeric",
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
});

/** A time with milliseconds, in the time zone of the viewer. */
export function inMilliseconds(time: string): string {
  return exact.format(new Date(time));
}

export function inShort(time: string): string {
  return short.format(new Date(time));
}

/** "42 ms", "1.3 s". */
export function duration(milliseconds: number): string {
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}

/** A time of an input of type datetime-local, which is in the viewer's time zone, as UTC. */
export function fromLocalInput(value: string): string | undefined {
  const time = value ? new Date(value) : null;
  return time && !Number.isNaN(time.getTime()) ? time.toISOString() : undefined;
}

/** A time for an input of type datetime-local. */
export function toLocalInput(time: Date): string {
  const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}
