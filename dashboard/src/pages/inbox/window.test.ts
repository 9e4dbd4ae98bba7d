import { expect, test } from "vitest";
import { readWindow, timeLeft } from "./window";

const NOW = new Date("2026-11-16T10:00:00Z").getTime();

test("the window is open until its end, and then only templates can be sent", () => {
  expect(readWindow(true, "2026-11-16T10:00:01Z", NOW)).toEqual({ open: true, left: 1000 });
  expect(readWindow(true, "2026-11-16T10:00:00Z", NOW)).toEqual({ open: false, ever: true });
  expect(readWindow(true, null, NOW)).toEqual({ open: false, ever: false });
});

test("a channel without windows is always open", () => {
  expect(readWindow(false, null, NOW)).toEqual({ open: true, left: null });
});

test("the time that is left is told in hours and minutes", () => {
  expect(timeLeft(86_399_000)).toBe("23 h 59 min");
  expect(timeLeft(12 * 60_000)).toBe("12 min");
  expect(timeLeft(59_000)).toBe("less than a minute");
});
