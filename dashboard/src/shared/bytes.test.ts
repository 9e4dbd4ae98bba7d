import { expect, test } from "vitest";
import { bytes } from "./bytes";

test.each([
  [0, "0 B"],
  [1023, "1023 B"],
  [48_211, "47.1 KiB"],
  [2_147_483_648, "2 GiB"],
])("%i is %s", (count, words) => {
  expect(bytes(count)).toBe(words);
});
