import { expect, it } from "vitest";
import { peaks } from "./waveform";

it("returns the loudness of each part", () => {
  expect(peaks([0, 0.1, -0.5, 0.2], 2)).toEqual([0.2, 1]);
  expect(peaks([0, 0, 0], 3)).toEqual([0, 0, 0]);
  expect(peaks([], 4)).toEqual([0, 0, 0, 0]);
  expect(peaks(new Float32Array(100_000).fill(0.3), 36)).toHaveLength(36);
});
