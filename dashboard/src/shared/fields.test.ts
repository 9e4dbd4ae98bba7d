import { expect, test } from "vitest";
import { follow, overtaken } from "./fields";

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

test("a field that is edited here says that somebody else has changed it", () => {
  expect(overtaken("Bea", "Ana", "Cleo")).toContain("to “Cleo”");
  expect(overtaken(["a", "b"], ["a"], ["c"])).toContain("Somebody else");
  expect(overtaken("Ana", "Ana", "Cleo")).toBeUndefined(); // not edited here: it is taken over
  expect(overtaken("Bea", "Ana", "Ana")).toBeUndefined();
  expect(overtaken("Bea, ", "Ana", "Bea")).toBeUndefined(); // saved by this form
});
