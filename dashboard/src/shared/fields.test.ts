import { expect, test } from "vitest";
import { follow } from "./fields";

const BEFORE = { name: "Ana", out: false, fields: ["a"] };

test("what others change is taken over, except the fields that are edited here", () => {
  const edited = { values: { ...BEFORE, name: "Bea", fields: ["a", "b"] }, before: BEFORE };
  expect(follow(edited, { name: "Cleo", out: true, fields: ["a", "c"] })).toEqual({
    values: { name: "Bea", out: true, fields: ["a", "b"] },
    before: { name: "Ana", out: true, fields: ["a"] },
  });
});

test("a field that was saved is not edited any more", () => {
  const saved = { ...BEFORE, name: "Bea" };
  expect(follow({ values: saved, before: BEFORE }, saved)).toEqual({ values: saved, before: saved });
});
