/** The rows of a thread: days, and messages that know their neighbours. */

import type { Message, Status } from "../../shared/types";
import { dayKey } from "./times";

export type ThreadRow =
  | { kind: "day"; key: string; at: number }
  | { kind: "unread"; key: string; count: number }
  | { kind: "message"; key: string; message: Message; first: boolean; last: boolean };

const GROUP = 300; // seconds: messages of one side that follow each other this fast are drawn as one group

/** Return whether a message is on the person's phone. One that failed is shown too, because a developer looks for it. */
export function isShown(message: Message): boolean {
  return message.from === "person" || (message.status !== "accepted" && message.status !== "sent");
}

/** Return the rows of messages (oldest first); `firstUnread` is the seq of the first message that was unread. */
export function threadRows(messages: Message[], firstUnread: number | null = null): ThreadRow[] {
  const rows: ThreadRow[] = [];
  messages.forEach((message, index) => {
    const before = messages[index - 1];
    const after = messages[index + 1];
    if (!before || dayKey(before.at) !== dayKey(message.at)) {
      rows.push({ kind: "day", key: `day ${dayKey(message.at)} ${message.seq}`, at: message.at });
    }
    if (message.seq === firstUnread) {
      const count = messages.slice(index).filter((one) => one.from === "business").length;
      rows.push({ kind: "unread", key: "unread", count });
    }
    const first = !belongTogether(before, message) || message.seq === firstUnread;
    const last = !belongTogether(message, after) || after?.seq === firstUnread;
    rows.push({ kind: "message", key: message.id, message, first, last });
  });
  return rows;
}

function belongTogether(one: Message | undefined, other: Message | undefined): boolean {
  if (!one || !other || one.from !== other.from) return false;
  return other.at - one.at < GROUP && dayKey(one.at) === dayKey(other.at);
}

/** Return the seq of the first of the last `unread` messages of the business, or null. */
export function firstUnreadSeq(messages: Message[], unread: number): number | null {
  if (unread <= 0) return null;
  const received = messages.filter((message) => message.from === "business" && message.status !== "failed");
  return received.at(-Math.min(unread, received.length))?.seq ?? null;
}

/** Return how many ticks a status has, and whether they are coloured. */
export function ticks(status: Status): { count: 0 | 1 | 2; seen: boolean } {
  if (status === "accepted" || status === "failed") return { count: 0, seen: false };
  if (status === "sent") return { count: 1, seen: false };
  return { count: 2, seen: status !== "delivered" };
}

/** Return each emoji once, with how many gave it and whether the person did. */
export function groupReactions(reactions: Message["reactions"]): { emoji: string; count: number; mine: boolean }[] {
  const groups = new Map<string, { emoji: string; count: number; mine: boolean }>();
  for (const { emoji, from } of reactions) {
    const group = groups.get(emoji) ?? { emoji, count: 0, mine: false };
    groups.set(emoji, { emoji, count: group.count + 1, mine: group.mine || from === "person" });
  }
  return [...groups.values()];
}
