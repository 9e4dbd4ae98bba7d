import { expect, test } from "vitest";
import { randomKey } from "./randomKey";

test("each key is another one", () => {
  expect(randomKey()).toMatch(/^[0-9a-f]{32}$/);
  expect(randomKey()).not.toBe(randomKey());
});
