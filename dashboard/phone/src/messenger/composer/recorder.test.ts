import { expect, it } from "vitest";
import { microphoneProblem, recordingProblem } from "./recorder";

it("says why there is no recording", () => {
  expect(recordingProblem()).toBe("This browser cannot record."); // as in Node.js
  expect(microphoneProblem(new DOMException("", "NotAllowedError"))).toContain("not allowed");
  expect(microphoneProblem(new DOMException("", "NotFoundError"))).toBe("There is no microphone.");
  expect(microphoneProblem(new DOMException("", "NotReadableError"))).toContain("Another program");
  expect(microphoneProblem(new Error("x"))).toBe("The microphone cannot be used.");
});
