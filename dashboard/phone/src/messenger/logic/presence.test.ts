import { expect, it } from "vitest";
import { isOnline, presenceWord } from "./presence";
import { clockTime } from "./times";

const NOW = 1_700_000_000;

it("shows a business as online until its time is over", () => {
  const presence = { online: true, until: NOW + 30, last_seen: NOW };
  expect(presenceWord(presence, NOW + 29)).toBe("online");
  expect(presenceWord(presence, NOW + 30)).toBe(`last seen ${clockTime(NOW)}`);
  expect(isOnline({ online: true, until: null, last_seen: null }, NOW * 2)).toBe(true);
});

it("says when a business was seen", () => {
  const presence = { online: false, until: null, last_seen: NOW };
  expect(presenceWord(presence, NOW + 86_400)).toBe(`last seen Yesterday ${clockTime(NOW)}`);
  expect(presenceWord({ ...presence, last_seen: null }, NOW)).toBe("");
  expect(presenceWord(null, NOW)).toBe("");
});
