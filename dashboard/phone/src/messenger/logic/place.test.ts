import { expect, it } from "vitest";
import { degrees } from "./place";

it("reads coordinates", () => {
  expect([" -23.55 ", "46,63", "+90", "0"].map((text) => degrees(text, 90))).toEqual([-23.55, 46.63, 90, 0]);
  expect(["", "x", "91", "-90.01", "1e2", "1.2.3", "Infinity"].map((text) => degrees(text, 90))).toEqual(
    Array(7).fill(null),
  );
});
