import { expect, test } from "vitest";
import { stepFrom } from "./steps";

const order = (...ids: string[]) => ids.map((id) => ({ id, channel: "ch_1" }));

test("one step goes to the next or the previous conversation", () => {
  expect(stepFrom(order("a", "b", "c"), undefined, 0, 1)?.id).toBe("a");
  expect(stepFrom(order("a", "b", "c"), "b", 1, 1)?.id).toBe("c");
  expect(stepFrom(order("a", "b", "c"), "b", 1, -1)?.id).toBe("a");
  expect(stepFrom(order("a", "b", "c"), "c", 2, 1)).toBeUndefined();
});

test("after a conversation was closed, the step goes on at its place", () => {
  expect(stepFrom(order("a", "c", "d"), "b", 1, 1)?.id).toBe("c");
  expect(stepFrom(order("a", "c", "d"), "b", 1, -1)?.id).toBe("a");
  expect(stepFrom(order("a", "b"), "c", 2, 1)?.id).toBe("b");
  expect(stepFrom([], "c", 0, 1)).toBeUndefined();
});
