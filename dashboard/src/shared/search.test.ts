import { expect, test } from "vitest";
import { only, readTexts } from "./search";

test("only texts with a name that is asked for are read", () => {
  expect(readTexts({ a: "x", b: "", c: 7, d: null, other: "y" }, ["a", "b", "c", "d", "e"])).toEqual({ a: "x" });
});

test("a parameter that a reader leaves out is gone, and the channel stays", () => {
  const read = only(() => ({ status: "new" }));
  const found = { channel: "ch_1", from: "never", other: "x", ...read({ channel: "ch_1", from: "never", other: "x" }) };
  expect(found).toEqual({ channel: "ch_1", from: undefined, other: undefined, status: "new" });
});
