import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { TypingReporter } from "./useTyping";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it("reports typing once in a while, and its end", () => {
  const reports: boolean[] = [];
  const reporter = new TypingReporter((on) => reports.push(on));
  reporter.stop();
  expect(reports).toEqual([]);
  reporter.note();
  vi.advanceTimersByTime(2000);
  reporter.note();
  expect(reports).toEqual([true]);
  vi.advanceTimersByTime(2900);
  reporter.note();
  vi.advanceTimersByTime(200);
  reporter.note(); // 5.1 s after the first report
  expect(reports).toEqual([true, true]);
  vi.advanceTimersByTime(3000);
  expect(reports).toEqual([true, true, false]);
  reporter.stop();
  expect(reports).toEqual([true, true, false]);
});
