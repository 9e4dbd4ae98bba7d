import type { Conversation } from "./queries";

/** A conversation in a list that may show several channels. */
export type InboxRow = { channel: string; conversation: Conversation };

/** What is loaded of the list of one channel, the newest first. `more`: there are older ones. */
export type ChannelList = { channel: string; items: Conversation[]; more: boolean };

export type MergedList = { rows: InboxRow[]; next: string[] };

/**
 * Merges the lists of several channels by time. A row is shown only when no older page of another channel can contain
 * one that belongs before it. `next`: the channels of which a page is needed to show more.
 */
export function mergeLists(lists: ChannelList[]): MergedList {
  const open = lists.filter(({ more }) => more);
  const ends = open.map(({ channel, items }) => ({ channel, end: orderOf(items.at(-1)) }));
  const bound =
    ends
      .map(({ end }) => end)
      .sort()
      .at(-1) ?? "";
  const rows = lists
    .flatMap(({ channel, items }) => items.map((conversation) => ({ channel, conversation })))
    .filter(({ conversation }) => orderOf(conversation) >= bound)
    .sort((a, b) => compare(orderOf(b.conversation), orderOf(a.conversation)));
  return { rows, next: ends.filter(({ end }) => end === bound).map(({ channel }) => channel) };
}

const NOTHING_YET = "\uffff"; // an empty page hides everything until the next one is there

/** Ids of messages sort by time. */
function orderOf(conversation: Conversation | undefined): string {
  return conversation ? (conversation.last_message?.key.id ?? "") : NOTHING_YET;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
