import { expect, it } from "vitest";
import { fileProblem, kindOf, LARGEST } from "./files";

it("sends a file as what it is", () => {
  expect(["image/png", "IMAGE/JPEG", "image/svg+xml", "image/heic"].map(kindOf)).toEqual([
    "image",
    "image",
    "document",
    "document",
  ]);
  expect(["video/mp4", "audio/ogg; codecs=opus", "application/pdf", ""].map(kindOf)).toEqual([
    "video",
    "audio",
    "document",
    "document",
  ]);
});

it("says why a file cannot be sent", () => {
  expect(fileProblem({ name: "a.png", size: 1 })).toBeNull();
  expect(fileProblem({ name: "a.png", size: 0 })).toBe("a.png is empty.");
  expect(fileProblem({ name: "a.png", size: LARGEST + 1 })).toBe(
    "a.png has 16.0 MB; the sandbox takes at most 16.0 MB. Choose a smaller file.",
  );
});
