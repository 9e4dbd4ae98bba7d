import { expect, test } from "vitest";
import { othersInWords } from "./Others";

test("who is typing is more than who is looking", () => {
  expect(othersInWords([])).toBe("");
  expect(othersInWords([{ name: "Ana", state: "viewing" }])).toBe("Ana is looking at this conversation.");
  const both = [
    { name: "Ana", state: "viewing" as const },
    { name: "Ben", state: "typing" as const },
  ];
  expect(othersInWords(both)).toBe("Ben is typing.");
  expect(othersInWords(both.map(({ name }) => ({ name, state: "viewing" })))).toBe(
    "Ana and Ben are looking at this conversation.",
  );
});
