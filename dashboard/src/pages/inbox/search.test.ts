import { expect, test } from "vitest";
import { readInboxSearch, toFilter, toNeedle } from "./search";

test("the address is read, and what makes no sense is left out", () => {
  const search = { view: "mine", q: 5511, label: "VIP", all: true, assignee: "", channel: 7, trace: "M1", x: 1 };
  expect(readInboxSearch(search)).toEqual({ view: "mine", q: "5511", label: "VIP", all: true, trace: "M1" });
  expect(readInboxSearch({ view: "open", all: "yes", q: "  " })).toEqual({});
});

test("each view is a query of the API", () => {
  expect(toFilter({}, "usr_1")).toEqual({ status: "open", archived: "false" });
  expect(toFilter({ view: "mine" }, "usr_1")).toEqual({ status: "open", archived: "false", assignee: "usr_1" });
  expect(toFilter({ view: "unassigned" }, "usr_1")).toMatchObject({ assignee: "none" });
  expect(toFilter({ view: "closing" }, "usr_1")).toEqual({ window: "closing", archived: "false" });
  expect(toFilter({ view: "unread", assignee: "usr_2" }, "usr_1")).toMatchObject({ unread: "true", assignee: "usr_2" });
});

test("a search finds conversations whatever their status", () => {
  expect(toFilter({ q: " bread ", view: "mine" }, "usr_1")).toEqual({ q: "bread" });
  expect(toNeedle("+55 (11) 99999-8888")).toBe("5511999998888");
  expect(toNeedle("order 4711")).toBe("order 4711");
});

test("the list of drafts and the open draft are in the address", () => {
  expect(readInboxSearch({ drafts: "refused", draft: "drf_1" })).toEqual({ drafts: "refused", draft: "drf_1" });
  expect(readInboxSearch({ drafts: "lost", draft: "" })).toEqual({});
});
