import { expect, it } from "vitest";
import type { Message, Side } from "../../shared/types";
import { firstUnreadSeq, groupReactions, threadRows, ticks } from "./threadRows";

const DAY = 86_400;
const noon = new Date(2026, 10, 16, 12).getTime() / 1000;

function message(seq: number, from: Side, at: number): Message {
  return {
    id: `m${seq}`,
    seq,
    from,
    at,
    type: "text",
    view: { text: String(seq) },
    status: "read",
    error: null,
    quote: null,
    reactions: [],
    edited: false,
    deleted: false,
    forwarded: false,
  };
}

it("separates days and groups neighbours", () => {
  const messages = [
    message(1, "business", noon - DAY),
    message(2, "business", noon),
    message(3, "business", noon + 10),
    message(4, "person", noon + 20),
    message(5, "person", noon + 900),
  ];
  const rows = threadRows(messages);
  expect(rows.map((row) => row.kind)).toEqual(["day", "message", "day", "message", "message", "message", "message"]);
  const edges = rows.flatMap((row) => (row.kind === "message" ? [[row.first, row.last]] : []));
  expect(edges).toEqual([
    [true, true],
    [true, false],
    [false, true],
    [true, true],
    [true, true],
  ]);
});

it("marks the first unread message", () => {
  const messages = [message(1, "business", noon), message(2, "person", noon + 1), message(3, "business", noon + 2)];
  expect(firstUnreadSeq(messages, 0)).toBeNull();
  expect(firstUnreadSeq(messages, 1)).toBe(3);
  expect(firstUnreadSeq(messages, 9)).toBe(1);
  const rows = threadRows(messages, 3);
  expect(rows.find((row) => row.kind === "unread")).toMatchObject({ count: 1 });
});

it("knows ticks and reactions", () => {
  expect(ticks("accepted").count).toBe(0);
  expect(ticks("sent")).toEqual({ count: 1, seen: false });
  expect(ticks("delivered")).toEqual({ count: 2, seen: false });
  expect(ticks("played")).toEqual({ count: 2, seen: true });
  expect(
    groupReactions([
      { from: "person", emoji: "👍" },
      { from: "business", emoji: "👍" },
      { from: "business", emoji: "❤️" },
    ]),
  ).toEqual([
    { emoji: "👍", count: 2, mine: true },
    { emoji: "❤️", count: 1, mine: false },
  ]);
});
