import { expect, test } from "vitest";
import { readTexts } from "./search";

test("only texts with a name that is asked for are read", () => {
  expect(readTexts({ a: "x", b: "", c: 7, d: null, other: "y" }, ["a", "b", "c", "d", "e"])).toEqual({ a: "x" });
});
