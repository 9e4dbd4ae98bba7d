import { expect, test } from "vitest";
import { type ChannelList, mergeLists } from "./merge";
import type { Conversation } from "./queries";

const one = (id: string) => ({ id: `cv_${id}`, last_message: { key: { id } } }) as Conversation;
const list = (channel: string, ids: string[], more = false): ChannelList => ({ channel, items: ids.map(one), more });
const shown = (lists: ChannelList[]) =>
  mergeLists(lists).rows.map(({ channel, conversation }) => channel + conversation.id.slice(3));

test("the channels are merged by time, and each row names its channel", () => {
  expect(shown([list("a", ["9", "5", "1"]), list("b", ["8", "6"])])).toEqual(["a9", "b8", "b6", "a5", "a1"]);
});

test("what an older page may come before is not shown yet", () => {
  const lists = [list("a", ["9", "5"], true), list("b", ["8", "3"], true), list("c", ["7", "2"])];
  expect(shown(lists)).toEqual(["a9", "b8", "c7", "a5"]);
  expect(mergeLists(lists).next).toEqual(["a"]);
});

test("an empty page of a filtered list is followed first", () => {
  const lists = [list("a", [], true), list("b", ["8"], true)];
  expect(mergeLists(lists)).toEqual({ rows: [], next: ["a"] });
});

test("one channel is shown as it is", () => {
  expect(shown([list("a", ["9", "5"], true)])).toEqual(["a9", "a5"]);
  expect(mergeLists([list("a", ["9", "5"], true)]).next).toEqual(["a"]);
  expect(mergeLists([list("a", ["9", "5"])]).next).toEqual([]);
});
