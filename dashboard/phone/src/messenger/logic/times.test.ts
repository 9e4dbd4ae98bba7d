import { expect, it } from "vitest";
import { barTime, clockTime, dayKey, dayLabel, duration, shortTime, timeLeft } from "./times";

const at = (year: number, month: number, day: number, hour = 12) =>
  new Date(year, month - 1, day, hour).getTime() / 1000;
const now = at(2026, 11, 16, 9);

it("names days", () => {
  expect(dayLabel(at(2026, 11, 16, 0), now)).toBe("Today");
  expect(dayLabel(at(2026, 11, 15, 23), now)).toBe("Yesterday");
  expect(dayLabel(at(2026, 11, 12), now)).toBe(new Date(2026, 10, 12).toLocaleDateString([], { weekday: "long" }));
  expect(dayLabel(at(2025, 11, 12), now)).toContain("2025");
  expect(dayLabel(at(2026, 12, 24), now)).toContain("2026"); // the clock was set back
  expect(dayKey(at(2026, 3, 4))).toBe("2026-03-04");
});

it("shortens times for the chat list", () => {
  expect(shortTime(at(2026, 11, 16, 8), now)).toBe(clockTime(at(2026, 11, 16, 8)));
  expect(shortTime(at(2026, 11, 15), now)).toBe("Yesterday");
  expect(shortTime(at(2026, 1, 2), now)).toMatch(/\d/);
});

it("shortens the time of the status bar", () => {
  expect(barTime(now)).toMatch(/^\d{1,2}:\d{2}$/);
});

it("shows durations and what is left", () => {
  expect([0, 7.9, 61, 600, Number.NaN, Number.POSITIVE_INFINITY].map(duration)).toEqual([
    "0:00",
    "0:07",
    "1:01",
    "10:00",
    "0:00",
    "0:00",
  ]);
  expect([90_000 * 3, 86_400, 83_400, 300, 20, 0, -5].map((left) => timeLeft(now + left, now))).toEqual([
    "3 days",
    "24 h",
    "23 h",
    "5 min",
    "less than a minute",
    null,
    null,
  ]);
});
