import type { Usage } from "./queries";
import type { Group } from "./search";

/** One colour of a plot: a number for each day. */
export type Series = { label: string; values: number[] };

const MOST = 8; // colours that can be told apart

/** The days that are shown: those of the future have no figures yet. */
export function pastDays(usage: Usage, today: string): Usage["days"] {
  return usage.days.filter((day) => day.date <= today);
}

/** The messages of each day, as bars on top of one another. */
export function seriesOf(usage: Usage, days: Usage["days"], by: Group): Series[] {
  if (by === "direction") {
    return [
      { label: "Sent", values: days.map((day) => day.out.total - day.failed) },
      { label: "Failed", values: days.map((day) => day.failed) },
      { label: "Received", values: days.map((day) => day.in.total) },
    ];
  }
  if (by === "channel") {
    return largest(
      usage.channels.map((channel) => ({
        label: `${channel.name} (+${channel.phone})`,
        values: days.map((_, i) => (channel.out_by_day[i] ?? 0) + (channel.in_by_day[i] ?? 0)),
      })),
    );
  }
  const types = new Set(days.flatMap((day) => [...Object.keys(day.out.types), ...Object.keys(day.in.types)]));
  return largest(
    [...types].map((type) => ({
      label: typeWords(type),
      values: days.map((day) => (day.out.types[type] ?? 0) + (day.in.types[type] ?? 0)),
    })),
  );
}

/** The largest series; the others together are one. */
function largest(series: Series[]): Series[] {
  const sorted = series.toSorted((a, b) => total(b) - total(a));
  if (sorted.length <= MOST) return sorted;
  const others = sorted.slice(MOST - 1);
  const values = (others[0]?.values ?? []).map((_, i) => others.reduce((sum, one) => sum + (one.values[i] ?? 0), 0));
  return [...sorted.slice(0, MOST - 1), { label: "Others", values }];
}

export function total({ values }: Series): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** How many messages were sent from the first day up to each day. */
export function cumulated(days: Usage["days"]): number[] {
  let sum = 0;
  return days.map((day) => {
    sum += day.out.total;
    return sum;
  });
}

/** "text" → "Text", "interactive_list" → "Interactive list". */
export function typeWords(type: string): string {
  const words = type.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The figures as a table for a spreadsheet: one line for each day, direction and type. */
export function toCsv(days: Usage["days"]): string {
  const lines = ["date,direction,type,messages"];
  for (const day of days) {
    for (const [direction, { types }] of [["out", day.out] as const, ["in", day.in] as const]) {
      for (const [type, count] of Object.entries(types)) lines.push([day.date, direction, type, count].join(","));
    }
    if (day.failed) lines.push([day.date, "failed", "", day.failed].join(","));
  }
  return `${lines.join("\r\n")}\r\n`;
}

/** Round numbers for the lines of a plot, from 0 to at least `most`. */
export function ticksFor(most: number, count = 4): number[] {
  const rough = Math.max(1, most / count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? rough;
  return Array.from({ length: Math.max(1, Math.ceil(most / step)) + 1 }, (_, i) => i * step);
}
