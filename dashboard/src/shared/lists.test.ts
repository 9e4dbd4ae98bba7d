import { expect, test } from "vitest";
import { loadAll } from "./lists";

test("a choice offers the rows of all pages", async () => {
  const pages = new Map<string | undefined, { items: number[]; next: string | null }>([
    [undefined, { items: [1, 2], next: "p2" }],
    ["p2", { items: [3], next: null }],
  ]);
  const load = async (cursor: string | undefined) => pages.get(cursor) ?? { items: [], next: null };
  expect(await loadAll(load)).toEqual([1, 2, 3]);
});
