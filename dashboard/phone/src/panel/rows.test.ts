import { expect, test } from "vitest";
import { addRow, MOST, matches, summaryOf } from "./rows";

const row = (seq: number, more: Record<string, unknown> = {}) => ({ seq, at: seq, kind: "accepted", ...more });

test("rows are kept in order, once, and not more than the cap", () => {
  let rows = [3, 1, 2, 3, 5, 4].map((seq) => row(seq)).reduce(addRow, [] as ReturnType<typeof row>[]);
  expect(rows.map((one) => one.seq)).toEqual([5, 4, 3, 2, 1]);
  for (let seq = 6; seq < MOST + 10; seq++) rows = addRow(rows, row(seq)) as typeof rows;
  expect(rows.length).toBe(MOST);
  expect(rows[0]?.seq).toBe(MOST + 9);
});

test("a person is found in both directions", () => {
  const filter = { kind: "", number: "", person: "5511" };
  expect(matches(row(1, { to: "55119" }), filter)).toBe(true);
  expect(matches(row(1, { kind: "incoming", from: "55119", to: "1555" }), filter)).toBe(true);
  expect(matches(row(1, { kind: "incoming", from: "1555", to: "55119" }), filter)).toBe(false);
  expect(matches(row(1, { to: "1555" }), filter)).toBe(false);
});

test("a row has one line", () => {
  expect(summaryOf(row(1, { type: "text", content: { body: "Hello" } }))).toBe("text · Hello");
  expect(summaryOf(row(1, { kind: "refused", http_status: 500, code: 0, details: null }))).toBe("HTTP 500");
  expect(summaryOf(row(1, { kind: "refused", http_status: 0, code: 0 }))).toBe("HTTP none");
});
