import type { Conversation } from "./queries";

/** A conversation in a list that may show several channels. */
export type InboxRow = { channel: string; conversation: Conversation };

/** What is loaded of the list of one channel, the newest first. `more`: there are older ones. */
export type ListOf<Item> = { channel: string; items: Item[]; more: boolean };
export type ChannelList = ListOf<Conversation>;

export type MergedList = { rows: InboxRow[]; next: string[] };

/** Merges the conversations of several channels by the time of their last message. */
export function mergeLists(lists: ChannelList[]): MergedList {
  // Ids of messages sort by time.
  const { rows, next } = mergeBy(lists, ({ last_message }) => last_message?.key.id ?? "");
  return { rows: rows.map(({ channel, item }) => ({ channel, conversation: item })), next };
}

const NOTHING_YET = "\uffff"; // an empty page hides everything until the next one is there

/**
 * Merges the lists of several channels. A row is shown only when no older page of another channel can contain one that
 * belongs before it. `next`: the channels of which a page is needed to show more.
 */
export function mergeBy<Item>(lists: ListOf<Item>[], orderOf: (item: Item) => string) {
  const open = lists.filter(({ more }) => more);
  const ends = open.map(({ channel, items }) => {
    const last = items.at(-1);
    return { channel, end: last === undefined ? NOTHING_YET : orderOf(last) };
  });
  const bound =
    ends
      .map(({ end }) => end)
      .sort()
      .at(-1) ?? "";
  const rows = lists
    .flatMap(({ channel, items }) => items.map((item) => ({ channel, item })))
    .filter(({ item }) => orderOf(item) >= bound)
    .sort((a, b) => compare(orderOf(b.item), orderOf(a.item)));
  return { rows, next: ends.filter(({ end }) => end === bound).map(({ channel }) => channel) };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
