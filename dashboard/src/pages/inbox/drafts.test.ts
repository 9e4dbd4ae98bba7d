import { expect, test } from "vitest";
import { keyFor } from "./drafts";
import { fileProblem, lookOfFile } from "./files";
import { fill, readTemplate } from "./templates";

test("the same text keeps its key after a failure, another text gets a new one", () => {
  const failed = { text: "Hello", key: "k1", sent: "Hello" };
  expect(keyFor(failed, "Hello", () => "k2")).toBe("k1");
  expect(keyFor(failed, "Hello!", () => "k2")).toBe("k2");
  expect(keyFor({ text: "Hello" }, "Hello", () => "k2")).toBe("k2");
});

test("a file that is too large or empty is refused before it is uploaded", () => {
  expect(fileProblem({ name: "a.jpg", size: 5 * 1_048_576, type: "image/jpeg" })).toBeNull();
  expect(fileProblem({ name: "a.jpg", size: 5 * 1_048_576 + 1, type: "image/jpeg" })).toContain("up to 5 MB");
  expect(fileProblem({ name: "a.pdf", size: 0, type: "application/pdf" })).toContain("empty");
  expect(lookOfFile("image/svg+xml")).toBe("document");
});

test("a template names the values that it needs, and is filled in with them", () => {
  const components = [
    { type: "HEADER", format: "TEXT", text: "Order {{1}}" },
    { type: "BODY", text: "Hello {{1}}, order {{2}} is on its way, {{1}}." },
    { type: "BUTTONS", buttons: [{ type: "URL", text: "Track", url: "https://x.example/{{1}}" }] },
  ];
  const shape = readTemplate({ components, parameter_format: "POSITIONAL" });
  expect(shape.variables).toEqual(["1", "2"]);
  expect(shape.header?.variable).toBe("1");
  expect(shape.buttonFields).toEqual([{ index: 0, label: "End of the address of “Track”", field: "text" }]);
  expect(fill(shape.body, ["Ana", "4711"])).toBe("Hello Ana, order 4711 is on its way, Ana.");
  expect(fill(shape.body, {})).toBe(shape.body);
});
