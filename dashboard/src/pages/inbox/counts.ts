import type { QueryClient } from "@tanstack/react-query";
import { gatewayNow } from "../../shared/gatewayTime";
import { patch } from "../../shared/lists";
import { SESSION, type SessionState } from "../../shared/session/state";
import { type Conversation, type Counts, keys } from "./queries";

const SOON_MS = 4 * 3_600_000; // as the gateway counts windows that close soon

/** Which views count a conversation, as the gateway does. */
function countedIn(one: Conversation, user: string | undefined, now: number): Record<Counted, boolean> {
  const open = one.status === "open" && !one.archived;
  const left = one.window_ends_at ? new Date(one.window_ends_at).getTime() - now : 0;
  return {
    open,
    unassigned: open && one.assignee === null,
    mine: open && one.assignee === user,
    unread: one.unread > 0 && !one.archived,
    closing: left > 0 && left <= SOON_MS && !one.archived,
  };
}

type Counted = "open" | "unassigned" | "mine" | "unread" | "closing";

/** The counts after a change of one conversation. */
export function countsAfter(
  counts: Counts,
  before: Conversation,
  after: Conversation,
  user: string | undefined,
  now = gatewayNow(),
): Counts {
  const [was, is] = [countedIn(before, user, now), countedIn(after, user, now)];
  const changed = (Object.keys(is) as Counted[]).filter((name) => was[name] !== is[name] && counts[name] !== null);
  if (changed.length === 0) return counts;
  return {
    ...counts,
    ...Object.fromEntries(changed.map((name) => [name, Math.max(0, (counts[name] ?? 0) + (is[name] ? 1 : -1))])),
  };
}

/** Counts a change of a conversation, so that a message needs no request. The gateway's counts come every minute. */
export function countChange(client: QueryClient, channel: string, before: Conversation, after: Conversation): void {
  const session = client.getQueryData<SessionState>(SESSION);
  const user = session?.status === "in" ? session.session.user.id : undefined;
  patch<Counts>(client, { queryKey: keys.counts(channel) }, (counts) => countsAfter(counts, before, after, user));
}
