import { expect, test } from "vitest";
import { formatRoute, parseRoute } from "./route";

test.each([
  ["", [], {}],
  ["#/", [], {}],
  ["#/5511999998888", ["5511999998888"], {}],
  ["#/5511999998888/106540352242922", ["5511999998888"], { "5511999998888": "106540352242922" }],
  ["#/15550001+15550002/77+15550001", ["15550001", "15550002"], { "15550002": "77" }],
  ["#/%2B55%2011%2099999-8888", ["5511999998888"], {}],
  ["#/<script>", [], {}],
  ["#/%E0%A4%A", [], {}],
])("%s opens the phones %j", (hash, persons, open) => {
  expect(parseRoute(hash)).toEqual({ view: "phones", persons, open });
});

test.each([
  ["#/panel", ""],
  ["#/panel/faults", "faults"],
  ["#/panel/%2F", "/"],
])("%s opens the panel at %j", (hash, part) => {
  expect(parseRoute(hash)).toEqual({ view: "panel", part });
});

test.each(["#/", "#/15550001", "#/15550001/77", "#/15550001/77+15550002", "#/panel", "#/panel/faults"])(
  "%s is read and written the same",
  (hash) => {
    expect(formatRoute(parseRoute(hash))).toBe(hash);
  },
);
