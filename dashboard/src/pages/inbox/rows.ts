import { gatewayNow } from "../../shared/gatewayTime";
import { isLine } from "./content";
import type { Message } from "./queries";
import { dayWords } from "./words";

/**
 * A message in the thread. `day`: the heading above it, if it is the first of a day. The heading is no row of its own:
 * when older messages of the day come above, the place on the screen is kept by the rows, which must stay.
 */
export type ThreadRow = { key: string; message: Message; first: boolean; day: string | null };

const TOGETHER_MS = 5 * 60_000;

/** The rows of a thread, the oldest first: a heading for each day, and messages of one side grouped. */
export function toRows(newestFirst: Message[], now: Date = new Date(gatewayNow())): ThreadRow[] {
  const rows: ThreadRow[] = [];
  let before: Message | null = null;
  let day = "";
  for (const message of newestFirst.toReversed()) {
    if (!isLine(message)) continue;
    const today = dayWords(message.created_at, now);
    const isNew = today !== day;
    const first: boolean = isNew || !before || !together(before, message);
    rows.push({ key: message.key.id, message, first, day: isNew ? today : null });
    day = today;
    before = message;
  }
  return rows;
}

function together(before: Message, message: Message): boolean {
  const apart = new Date(message.created_at).getTime() - new Date(before.created_at).getTime();
  return before.direction === message.direction && apart < TOGETHER_MS;
}
