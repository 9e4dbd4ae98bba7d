import { expect, test } from "vitest";
import { countFilters, readLogSearch, toQuery } from "./search";

test("filters of the address become a query of the API", () => {
  const search = readLogSearch({
    status: ["pending", "exhausted"],
    type: "ack_notification",
    endpoint: "we_1",
    http: ["5xx", "none", "9xx"],
    from: "2026-11-15",
  });
  expect(toQuery(search)).toEqual({
    endpoint: "we_1",
    status: "pending,exhausted",
    type: "ack_notification",
    from: "2026-11-15",
    to: undefined,
    http: "5xx,none",
    message: undefined,
  });
  expect(countFilters(search)).toBe(5);
});

test("what makes no sense in the address is left out", () => {
  expect(readLogSearch({ status: ["pending", "eaten"], type: 7, from: "", endpoint: null, other: "x" })).toEqual({
    status: ["pending"],
  });
  expect(countFilters({})).toBe(0);
});
