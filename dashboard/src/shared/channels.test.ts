import { expect, test } from "vitest";
import { type Channel, pickChannel } from "./channels";

const channels = [{ id: "ch_1" }, { id: "ch_2" }] as Channel[];

test("the address decides, then the last choice, then the first", () => {
  expect(pickChannel(channels, "ch_2", "ch_1")?.id).toBe("ch_2");
  expect(pickChannel(channels, undefined, "ch_2")?.id).toBe("ch_2");
  expect(pickChannel(channels, undefined, "ch_gone")?.id).toBe("ch_1");
  expect(pickChannel([], undefined, null)).toBeUndefined();
});

test("a channel of another account is not replaced silently", () => {
  expect(pickChannel(channels, "ch_other", "ch_1")).toBeUndefined();
});
