import { isLine } from "./content";
import type { Message } from "./queries";
import { dayWords } from "./words";

export type ThreadRow =
  | { kind: "day"; key: string; text: string }
  | { kind: "message"; key: string; message: Message; first: boolean };

const TOGETHER_MS = 5 * 60_000;

/** The rows of a thread, the oldest first: a heading for each day, and messages of one side grouped. */
export function toRows(newestFirst: Message[], now: Date = new Date()): ThreadRow[] {
  const rows: ThreadRow[] = [];
  let before: Message | null = null;
  let day = "";
  for (const message of newestFirst.toReversed()) {
    if (!isLine(message)) continue;
    const today = dayWords(message.created_at, now);
    if (today !== day) {
      rows.push({ kind: "day", key: `day ${today} ${message.key.id}`, text: today });
      before = null;
    }
    day = today;
    rows.push({ kind: "message", key: message.key.id, message, first: !before || !together(before, message) });
    before = message;
  }
  return rows;
}

function together(before: Message, message: Message): boolean {
  const apart = new Date(message.created_at).getTime() - new Date(before.created_at).getTime();
  return before.direction === message.direction && apart < TOGETHER_MS;
}
