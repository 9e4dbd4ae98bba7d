import { expect, test } from "vitest";
import type { User } from "./queries";
import { countFilters, readAccountLogSearch } from "./search";
import { actionWords, detailWords, joinLook, roleLook } from "./words";

test("details are one line", () => {
  expect(detailWords({ details: { before: "owner", after: "agent" } })).toBe("owner → agent");
  expect(detailWords({ details: { name: "Shop", scopes: ["send", "read"], limits: { tier: 5 } } })).toBe(
    'name: Shop, scopes: send, read, limits: {"tier":5}',
  );
  expect(detailWords({ details: {} })).toBe("");
});

test("actions and roles that are not known here have their own words", () => {
  expect(actionWords("key_created")).toBe("Created a key");
  expect(actionWords("moon_painted")).toBe("moon painted");
  expect(roleLook("owner").label).toBe("Owner");
  expect(roleLook("pilot").label).toBe("pilot");
});

test("one who was invited has no code yet", () => {
  expect(joinLook({ invited: true, two_factor: false } as User).label).toBe("Invited");
  expect(joinLook({ invited: false, two_factor: true } as User).label).toBe("On");
});

test("filters of the address", () => {
  expect(readAccountLogSearch({ actor: "usr_1", action: 7, from: "", other: "x" })).toEqual({ actor: "usr_1" });
  expect(countFilters({})).toBe(0);
  expect(countFilters({ to: "2026-11-15" })).toBe(1);
});
