import { expect, test } from "vitest";
import { initialsOf } from "./initials";

test.each([
  ["Olivia Bennett", "OB"],
  ["ana maria de souza", "AM"],
  ["Zed", "ZE"],
  ["447700900101", "44"],
  ["👩‍👩‍👧‍👦🎉 Lea", "👩‍👩‍👧‍👦L"],
  ["🎉", "🎉"],
  ["محمد عبد الله", "مع"],
  ["", ""],
])("the initials of %s are %s", (name, initials) => {
  expect(initialsOf(name)).toBe(initials);
});
