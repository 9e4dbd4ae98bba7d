import { expect, test } from "vitest";
import type { Message } from "./queries";
import { toRows } from "./rows";

const message = (id: string, at: string, direction: "in" | "out" = "in") =>
  ({ key: { id }, created_at: at, direction, type: "text", about: null }) as unknown as Message;

test("days have headings, messages of one side within minutes are grouped, and rows keep their keys", () => {
  const now = new Date(2026, 10, 16, 12);
  const at = (day: number, minute: number) => new Date(2026, 10, day, 10, minute).toISOString();
  const older = [message("A", at(15, 0))];
  const newer = [message("D", at(16, 3), "out"), message("C", at(16, 2)), message("B", at(16, 1))];
  const rows = toRows([...newer, ...older], now);
  expect(rows.map(({ key, day, first }) => [key, day, first])).toEqual([
    ["A", "Yesterday", true],
    ["B", "Today", true],
    ["C", null, false],
    ["D", null, true],
  ]);
  expect(toRows(newer, now).map(({ key }) => key)).toEqual(["B", "C", "D"]);
});
