export const RANGES = ["7", "30", "90", "month"] as const;
export type Range = (typeof RANGES)[number];
export const GROUPS = ["direction", "channel", "type"] as const;
export type Group = (typeof GROUPS)[number];

/** What the page shows. It is in the address; `only` is a channel: `channel` is the one of the navigation. */
export type UsageSearch = { range?: Range; month?: string; by?: Group; only?: string };

const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;

/** Reads the choices from the address; what makes no sense is left out. */
export function readUsageSearch(search: Record<string, unknown>): UsageSearch {
  const found: UsageSearch = {};
  const range = RANGES.find((one) => one === String(search.range));
  if (range) found.range = range;
  if (typeof search.month === "string" && MONTH.test(search.month)) found.month = search.month;
  const by = GROUPS.find((one) => one === search.by);
  if (by) found.by = by;
  if (typeof search.only === "string" && search.only) found.only = search.only;
  return found;
}

export type Days = { from: string; to: string };

/** The days of the choice, in UTC; `to` is the day after the last one. */
export function daysOf({ range = "30", month }: UsageSearch, now: Date): Days {
  const today = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate());
  if (range === "month") return monthDays(month ?? isoDay(today).slice(0, 7));
  const tomorrow = today + DAY_MS;
  return { from: isoDay(tomorrow - Number(range) * DAY_MS), to: isoDay(tomorrow) };
}

/** All days of a month such as 2026-11. */
export function monthDays(month: string): Days {
  const [year = 0, number = 1] = month.split("-").map(Number);
  return { from: isoDay(Date.UTC(year, number - 1, 1)), to: isoDay(Date.UTC(year, number, 1)) };
}

/** This month and those before it, the newest first. */
export function lastMonths(now: Date, count: number): string[] {
  return Array.from({ length: count }, (_, back) =>
    isoDay(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).slice(0, 7),
  );
}

const DAY_MS = 86_400_000;

function isoDay(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
