import { expect, test } from "vitest";
import { daysOf, lastMonths, readUsageSearch } from "./search";

const NOW = new Date("2026-11-15T23:30:00Z");

test.each([
  [{}, { from: "2026-10-17", to: "2026-11-16" }],
  [{ range: "7" } as const, { from: "2026-11-09", to: "2026-11-16" }],
  [{ range: "month" } as const, { from: "2026-11-01", to: "2026-12-01" }],
  [{ range: "month", month: "2026-02" } as const, { from: "2026-02-01", to: "2026-03-01" }],
  [{ range: "month", month: "2025-12" } as const, { from: "2025-12-01", to: "2026-01-01" }],
])("%o", (search, days) => {
  expect(daysOf(search, NOW)).toEqual(days);
});

test("what makes no sense in the address is left out", () => {
  expect(readUsageSearch({ range: 7, by: "type", only: "ch_1", month: "2026-13" })).toEqual({
    range: "7",
    by: "type",
    only: "ch_1",
  });
  expect(readUsageSearch({ range: "8", by: "colour", only: 1, month: "2026-12" })).toEqual({ month: "2026-12" });
});

test("months over the turn of the year", () => {
  expect(lastMonths(new Date("2026-01-31T00:00:00Z"), 3)).toEqual(["2026-01", "2025-12", "2025-11"]);
});
