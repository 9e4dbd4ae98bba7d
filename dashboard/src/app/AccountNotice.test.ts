import { expect, test } from "vitest";
import { noticeOf } from "./AccountNotice";

const NOW = Date.parse("2026-11-15T12:00:00Z");
const account = { suspended: false, trial_ends_at: "2026-11-29T12:00:00Z", api_access: false };

test("a long trial needs no notice; its end does", () => {
  expect(noticeOf(account, NOW)).toBeNull();
  expect(noticeOf({ ...account, trial_ends_at: "2026-11-16T12:00:00Z" }, NOW)).toMatch(/trial ends/);
  expect(noticeOf({ ...account, trial_ends_at: "2026-11-14T12:00:00Z" }, NOW)).toMatch(/trial is over/);
  expect(noticeOf({ ...account, api_access: true, trial_ends_at: "2026-11-14T12:00:00Z" }, NOW)).toBeNull();
  expect(noticeOf({ ...account, suspended: true }, NOW)).toMatch(/suspended/);
});
