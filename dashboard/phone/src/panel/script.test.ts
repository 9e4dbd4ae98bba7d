import { expect, test } from "vitest";
import { lineOf, NEW_LINE, replyOf, shorten } from "./script";

const WHOLE = {
  text: "",
  pattern: "",
  on: "",
  delay: 1,
  times: null,
  tap: null,
  pick: null,
  react: null,
  order: null,
  submit: null,
  send: null,
};

test.each([
  { text: "Thanks" },
  { text: "You wrote {text}", pattern: "(?i)order", delay: 2, times: 1 },
  { tap: 0 },
  { tap: "Yes" },
  { pick: "row-1", on: "interactive.list" },
  { react: "👍", delay: 0 },
  { order: { quantity: 2 } },
  { send: { type: "location", location: { latitude: 1, longitude: 2 } }, pattern: "where" },
])("the form keeps %j", (reply) => {
  expect(replyOf(lineOf({ ...WHOLE, ...reply }), 0)).toEqual(reply);
});

test("what is wrong is said with its line", () => {
  expect(() => replyOf(NEW_LINE, 0)).toThrow("Line 1: type what the person does.");
  expect(() => replyOf({ ...NEW_LINE, value: "a", delay: "soon" }, 1)).toThrow(
    'Line 2, seconds must be a number, not "soon".',
  );
  expect(() => replyOf({ ...NEW_LINE, act: "json", value: "{" }, 2)).toThrow(/^Line 3 is not JSON/);
});

test("defaults are left out", () => {
  expect(shorten({ ...WHOLE, text: "a" })).toEqual({ text: "a" });
});
