import { expect, test } from "vitest";
import { ago, duration, fromLocalInput, toLocalInput } from "./times";

const NOW = Date.parse("2026-11-15T12:00:00Z");

test.each([
  ["2026-11-15T11:59:58Z", "just now"],
  ["2026-11-15T11:59:30Z", "30 seconds ago"],
  ["2026-11-15T11:57:00Z", "3 minutes ago"],
  ["2026-11-15T14:00:00Z", "in 2 hours"],
  ["2026-11-14T12:00:00Z", "yesterday"],
  ["2024-11-15T12:00:00Z", "2 years ago"],
])("%s is %s", (time, words) => {
  expect(ago(time, NOW)).toBe(words);
});

test("durations are short", () => {
  expect(duration(41.7)).toBe("42 ms");
  expect(duration(1340)).toBe("1.3 s");
});

test("a local time survives the way to the API and back", () => {
  const local = toLocalInput(new Date(NOW));
  expect(fromLocalInput(local)).toBe("2026-11-15T12:00:00.000Z");
  expect(fromLocalInput("")).toBeUndefined();
  expect(fromLocalInput("nonsense")).toBeUndefined();
});
