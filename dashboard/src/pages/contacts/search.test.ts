import { expect, test } from "vitest";
import { exportAddress, isFiltered, readContactSearch, toQuery } from "./search";

test("what makes no sense in the address is left out", () => {
  expect(readContactSearch({ q: 5511, label: 7, opted_out: "maybe", contact: "" })).toEqual({ q: "5511" });
  expect(readContactSearch({ opted_out: true, label: "lb_1" })).toEqual({ opted_out: "true", label: "lb_1" });
});

test("a phone number may be typed as people write it", () => {
  expect(toQuery({ q: " +55 (11) 9999-8888 " }).q).toBe("551199998888");
  expect(toQuery({ q: "Ana 2" }).q).toBe("Ana 2");
  expect(toQuery({ q: "  " }).q).toBeUndefined();
  expect(toQuery({ q: "a".repeat(200) }).q).toHaveLength(64);
  expect(isFiltered({ channel: "ch_1", contact: "ct_1" })).toBe(false);
  expect(isFiltered({ opted_out: "false" })).toBe(true);
});

test("the export has the filters of the page", () => {
  expect(exportAddress("ch_1", { q: "Ana", label: "lb_1" })).toBe("/api/v1/contacts/export?channel=ch_1&label=lb_1");
});
