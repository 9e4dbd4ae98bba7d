import { expect, test } from "vitest";
import { fileProblem, filesOf, lookOfFile } from "./files";

const MB = 1_048_576;

test("a file is sent as what the network can show, else as a document", () => {
  expect(["image/png", "image/webp", "video/mp4", "audio/ogg", "text/html", ""].map(lookOfFile)).toEqual([
    "image",
    "document",
    "video",
    "audio",
    "document",
    "document",
  ]);
});

test.each([
  ["image/jpeg", 5],
  ["video/mp4", 16],
  ["audio/mpeg", 16],
  ["application/pdf", 100],
])("a file of the type %s may have %i MB", (type, most) => {
  expect(fileProblem({ name: "a", type, size: most * MB })).toBeNull();
  expect(fileProblem({ name: "a", type, size: most * MB + 1 })).toBe(
    `“a” is too large: the network takes a file of this type up to ${most} MB.`,
  );
});

test("an empty file is refused", () => {
  expect(fileProblem({ name: "a", type: "", size: 0 })).toBe("“a” is empty.");
});

test("a pasted picture is attached, the picture of a text that is pasted is not", () => {
  const files = [{ name: "image.png" }] as unknown as FileList;
  expect(filesOf({ files, types: ["text/html", "Files"] })).toHaveLength(1); // copied from a page
  expect(filesOf({ files, types: ["text/plain", "Files"] })).toHaveLength(1); // a file, with its name
  expect(filesOf({ files, types: ["text/plain", "text/html", "text/rtf", "Files"] })).toEqual([]); // cells of a table
});
