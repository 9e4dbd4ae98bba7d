import { expect, test } from "vitest";
import { countFilters, readOrderSearch, toQuery } from "./search";

test("what makes no sense in the address is left out", () => {
  expect(readOrderSearch({ status: "lost", from: "today", to: "2026-11-15", order: 7 })).toEqual({ to: "2026-11-15" });
  expect(countFilters({ channel: "ch_1", order: "ord_1" })).toBe(0);
  expect(countFilters({ status: "new", to: "2026-11-15" })).toBe(2);
});

test("days are those of the viewer, and the last one is included", () => {
  expect(toQuery({ status: "new", from: "2026-10-31", to: "2026-10-31" }, "America/Sao_Paulo")).toEqual({
    status: "new",
    from: "2026-10-31",
    to: "2026-11-01",
    tz: "America/Sao_Paulo",
  });
  expect(toQuery({}, "UTC")).toEqual({ status: undefined, from: undefined, to: undefined, tz: undefined });
});
