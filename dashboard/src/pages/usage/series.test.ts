import { expect, test } from "vitest";
import type { Usage } from "./queries";
import { cumulated, pastDays, seriesOf, ticksFor, toCsv, total } from "./series";

const day = (date: string, out: Record<string, number>, incoming: Record<string, number>, failed = 0) => ({
  date,
  out: { total: sum(out), types: out },
  in: { total: sum(incoming), types: incoming },
  failed,
});
const sum = (types: Record<string, number>) => Object.values(types).reduce((all, one) => all + one, 0);

const usage = {
  days: [
    day("2026-11-14", { text: 3 }, {}, 1),
    day("2026-11-15", { text: 1, image: 1 }, { text: 2 }),
    day("2026-11-16", {}, {}),
  ],
  channels: [
    { name: "A", phone: "1", out_by_day: [3, 0, 0], in_by_day: [0, 0, 0] },
    { name: "B", phone: "2", out_by_day: [0, 2, 0], in_by_day: [0, 2, 0] },
  ],
} as unknown as Usage;
const past = pastDays(usage, "2026-11-15");

test("days of the future are not shown", () => {
  expect(past.map((one) => one.date)).toEqual(["2026-11-14", "2026-11-15"]);
});

test("by direction, failed messages are apart from sent ones", () => {
  expect(seriesOf(usage, past, "direction").map((one) => one.values)).toEqual([
    [2, 2],
    [1, 0],
    [0, 2],
  ]);
});

test("by channel and by type, the largest first", () => {
  expect(seriesOf(usage, past, "channel").map((one) => [one.label, total(one)])).toEqual([
    ["B (+2)", 4],
    ["A (+1)", 3],
  ]);
  expect(seriesOf(usage, past, "type").map((one) => [one.label, one.values])).toEqual([
    ["Text", [3, 3]],
    ["Image", [0, 1]],
  ]);
});

test("many channels become eight colours, and nothing is lost", () => {
  const channels = Array.from({ length: 20 }, (_, i) => ({
    name: `${i}`,
    phone: `${i}`,
    out_by_day: [i, 0],
    in_by_day: [0, 1],
  }));
  const series = seriesOf({ ...usage, channels } as unknown as Usage, past, "channel");
  expect(series).toHaveLength(8);
  expect(series.at(-1)?.label).toBe("Others");
  expect(series.reduce((all, one) => all + total(one), 0)).toBe(190 + 20);
});

test("sums and the table for a spreadsheet", () => {
  expect(cumulated(past)).toEqual([3, 5]);
  expect(toCsv(past).split("\r\n")).toEqual([
    "date,direction,type,messages",
    "2026-11-14,out,text,3",
    "2026-11-14,failed,,1",
    "2026-11-15,out,text,1",
    "2026-11-15,out,image,1",
    "2026-11-15,in,text,2",
    "",
  ]);
});

test.each([
  [0, [0, 1]],
  [3, [0, 1, 2, 3]],
  [7, [0, 2, 4, 6, 8]],
  [12_000, [0, 5000, 10_000, 15_000]],
])("lines up to %i", (most, ticks) => {
  expect(ticksFor(most)).toEqual(ticks);
});
