import { expect, it } from "vitest";
import type { Person } from "../../shared/types";
import { offlineUntil } from "./profile";

it("says until when a person is offline", () => {
  const person = (more: Partial<Person>) => ({ phone: "1", name: "Ana", ...more }) as Person;
  expect(offlineUntil(null, 5)).toBeNull();
  expect(offlineUntil(person({ offline: false, offline_until: null }), 5)).toBeNull();
  expect(offlineUntil(person({ offline: true, offline_until: null }), 5)).toBe(Number.POSITIVE_INFINITY);
  expect(offlineUntil(person({ offline: true, offline_until: 9 }), 5)).toBe(9);
  expect(offlineUntil(person({ offline: true, offline_until: 9 }), 9)).toBeNull();
});
