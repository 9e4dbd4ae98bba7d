import { expect, it } from "vitest";
import { freeNumber } from "./suggest";

it("suggests a number that is free", () => {
  expect(freeNumber([])).toBe("5511999990001");
  expect(freeNumber(["5511999990001", "1", "5511999990002"])).toBe("5511999990003");
});
