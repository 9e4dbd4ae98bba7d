import { expect, test } from "vitest";
import { healthOf, healthWords, hourWords, shadeOf } from "./figures";

const hour = (delivered: number, failed: number, p95_ms: number | null = null) => ({
  hour: "2026-11-15T12:00:00Z",
  delivered,
  failed,
  p50_ms: null,
  p95_ms,
  complete: true,
});

test("the health of a day", () => {
  expect(healthOf([hour(2, 1, 40), hour(0, 0), hour(5, 0, 90)])).toEqual({
    attempts: 8,
    delivered: 7,
    failed: 1,
    slowest: 90,
  });
  expect(healthWords(healthOf([hour(9999, 1)]))).toBe("99.9 % of 10,000 attempts delivered in the last 24 hours");
  expect(healthWords(healthOf([hour(1, 0)]))).toBe("100 % of 1 attempt delivered in the last 24 hours");
  expect(healthWords(healthOf([]))).toContain("No attempts");
});

test("the health of an hour", () => {
  expect([hour(0, 0), hour(1, 0), hour(2, 1), hour(1, 2)].map(shadeOf)).toEqual(["none", "good", "mixed", "bad"]);
  expect(hourWords(hour(12, 1, 80))).toBe("12 delivered, 1 failed; 95 % within 80 ms");
  expect(hourWords({ ...hour(12, 1), complete: false })).toContain("busy hour");
});
