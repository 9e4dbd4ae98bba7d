import { expect, test } from "vitest";
import { fileProblem, lookOfFile } from "./files";
import { afterSending, keyFor } from "./unsentText";

test("the same text keeps its key after a failure, another text gets a new one", () => {
  const failed = { text: "Hello", key: "k1", sent: "Hello" };
  expect(keyFor(failed, "Hello", () => "k2")).toBe("k1");
  expect(keyFor(failed, "Hello!", () => "k2")).toBe("k2");
  expect(keyFor({ text: "Hello" }, "Hello", () => "k2")).toBe("k2");
});

test("what was typed while a text was sent is kept", () => {
  expect(afterSending("Hello", "Hello")).toBe("");
  expect(afterSending("Hello \n", "Hello")).toBe("");
  expect(afterSending("Hello\nand one more", "Hello")).toBe("and one more");
  expect(afterSending("Good morning", "Hello")).toBe("Good morning");
  expect(afterSending("", "Hello")).toBe("");
});

test("a file that is too large or empty is refused before it is uploaded", () => {
  expect(fileProblem({ name: "a.jpg", size: 5 * 1_048_576, type: "image/jpeg" })).toBeNull();
  expect(fileProblem({ name: "a.jpg", size: 5 * 1_048_576 + 1, type: "image/jpeg" })).toContain("up to 5 MB");
  expect(fileProblem({ name: "a.pdf", size: 0, type: "application/pdf" })).toContain("empty");
  expect(lookOfFile("image/svg+xml")).toBe("document");
});
