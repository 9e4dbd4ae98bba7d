import { expect, test } from "vitest";
import { variableProblem } from "./rules";

const body = (text: string) => variableProblem(text, { mayTouchEnds: false });

test.each(["Hello there", "Hello {{1}}, order {{2}} of {{1}}."])("%s is fine", (text) => {
  expect(body(text)).toBeNull();
});

test.each([
  ["Hello {{1}", "not complete"],
  ["Hello {{2}} there", "without a gap"],
  ["Hello {{1}} and {{3}}.", "without a gap"],
  ["Hello {{name}} there", "without a gap"],
  ["Hello {{1}} {{2}} there", "between"],
  ["{{1}}, hello", "before the first"],
  ["Hello {{1}} ", "after the last"],
])("%s: %s", (text, words) => {
  expect(body(text)).toContain(words);
});

test("a header may begin and end with a variable", () => {
  expect(variableProblem("Order {{1}}", { mayTouchEnds: true })).toBeNull();
});
