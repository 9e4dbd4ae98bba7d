import { expect, test } from "vitest";
import { retryWords } from "./words";

const done = { id: "dl_1", success: true, error: null };
const refused = { id: "dl_2", success: false, error: { message: "The endpoint was deleted." } };

test("a retry says how many are tried again, and why others cannot be", () => {
  expect(retryWords({ accepted: 1, refused: 0, results: [done] })).toBe("1 delivery is tried again now.");
  expect(retryWords({ accepted: 2, refused: 0, results: [done, done] })).toBe("2 deliveries are tried again now.");
  expect(retryWords({ accepted: 1, refused: 1, results: [done, refused] })).toBe(
    "1 delivery is tried again now, 1 cannot be: The endpoint was deleted.",
  );
  expect(retryWords({ accepted: 0, refused: 1, results: [refused] })).toBe("The endpoint was deleted.");
});
