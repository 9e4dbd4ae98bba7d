import { expect, test } from "vitest";
import { readCallSearch } from "./search";

test("the filters of the calls are in the address; what makes no sense is left out", () => {
  const search = { key: "key_1", tool: "send_text", outcome: "refused", call: "call_1" };
  expect(readCallSearch(search)).toEqual(search);
  expect(readCallSearch({ ...search, outcome: "eaten", key: 3 })).toEqual({ tool: "send_text", call: "call_1" });
});
