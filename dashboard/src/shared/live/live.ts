import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { sessionQuery } from "../session/queries";
import { expire, queryClient } from "../session/state";
import { showDone } from "../ui/notices";
import type { GatewayEvent, LiveStatus, Notice, Part } from "./follow";
import { askAfterAnswer, askAgain, askPaced } from "./invalidate";
import { changesOf, changesOfNotice, isAboutAll, isNoticed, keyOf } from "./table";
import { shareStream } from "./tabs";

const LIVE = ["live"];
const GRACE_MS = 1_500; // a connection that is back sooner is not worth a word

export type Live = { status: LiveStatus; lostLong: boolean };

const START: Live = { status: "connecting", lostLong: false };

type Handler = { onEvent: (event: GatewayEvent) => void; kinds: readonly string[] };
type NoticeHandler = (notice: Notice) => void;

const handlers = new Set<Handler>();
const noticeHandlers = new Set<NoticeHandler>();

/** Follows what happens in the account while a person is signed in. One component of the app uses it. */
export function useLiveUpdates(user: string): void {
  const client = useQueryClient();
  const { data: session } = useQuery(sessionQuery);
  const signedIn = session?.status === "in";
  useEffect(() => (signedIn ? follow(client, user) : undefined), [client, user, signedIn]);
}

/** How the live connection is. `lostLong`: it has been lost for so long that the page says so. */
export function useLive(): Live {
  const { data } = useQuery<Live>({ queryKey: LIVE, queryFn: () => START, enabled: false, initialData: START });
  return data;
}

/**
 * Calls a function with each event. While it is used, the page keeps the queries of these kinds up to date itself;
 * others are asked again, as `table.ts` says.
 */
export function useLiveEvents(onEvent: (event: GatewayEvent) => void, kinds: readonly string[] = []): void {
  const latest = useRef(onEvent);
  latest.current = onEvent;
  const list = kinds.join(" ");
  useEffect(() => {
    const handler: Handler = { onEvent: (event) => latest.current(event), kinds: list ? list.split(" ") : [] };
    handlers.add(handler);
    return () => void handlers.delete(handler);
  }, [list]);
}

/** Calls a function with each notice: a change that is not an event. */
export function useLiveNotices(onNotice: NoticeHandler): void {
  const latest = useRef(onNotice);
  latest.current = onNotice;
  useEffect(() => {
    const handler: NoticeHandler = (notice) => latest.current(notice);
    noticeHandlers.add(handler);
    return () => void noticeHandlers.delete(handler);
  }, []);
}

function follow(client: QueryClient, user: string): () => void {
  const status = new StatusKeeper(client);
  const stop = shareStream(user, {
    onPart: (part) => apply(client, part),
    onStatus: (next, missed) => status.change(next, missed),
  });
  return () => {
    stop();
    status.stop();
  };
}

function apply(client: QueryClient, { events, notices, before }: Part): void {
  // What happened before the stream may be known to the page: it is asked again, and not applied.
  const applied = !before && applyEvents(events);
  const kept = new Set(applied ? [...handlers].flatMap(({ kinds }) => kinds) : []);
  const changes = [...events.flatMap(changesOf), ...notices.flatMap(changesOfNotice)];
  for (const change of changes) if (kept.has(change.kind)) askAfterAnswer(client, { queryKey: keyOf(change) });
  for (const notice of notices) for (const onNotice of noticeHandlers) onNotice(notice);
  if (notices.some(isAboutAll)) askNoticed(client);
  askPaced(
    client,
    changes.filter(({ kind }) => !kept.has(kind)),
  );
}

/** Calls the handlers of the page with events. If one fails, returns false: what it keeps up to date is asked again. */
function applyEvents(events: GatewayEvent[]): boolean {
  let applied = true;
  for (const event of events) {
    for (const { onEvent } of handlers) {
      try {
        onEvent(event);
      } catch (error) {
        reportError(error);
        applied = false;
      }
    }
  }
  return applied;
}

/** Asks again for what notices keep up to date: some of them may be missing. */
function askNoticed(client: QueryClient): void {
  askAgain(client, { predicate: ({ queryKey, state }) => isNoticed(queryKey) && state.data !== undefined });
}

/** Keeps the status for the page, and says when a lost connection is back. */
class StatusKeeper {
  private grace: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly client: QueryClient) {}

  change(status: LiveStatus, missed: number | null | undefined): void {
    const before = this.client.getQueryData<Live>(LIVE) ?? START;
    if (status === "lost") {
      if (before.status !== "lost") this.grace = setTimeout(() => this.set({ status, lostLong: true }), GRACE_MS);
      this.set({ status, lostLong: before.lostLong });
      return;
    }
    this.stop();
    this.set({ status, lostLong: false });
    if (status === "ended") void this.end();
    if (status !== "live") return;
    if (missed === null) askAgain(this.client, { predicate: isLoaded });
    else askNoticed(this.client);
    if (before.lostLong) showDone(backWords(missed));
  }

  stop(): void {
    clearTimeout(this.grace);
  }

  private set(live: Live): void {
    this.client.setQueryData<Live>(LIVE, live);
  }

  /** Finds out why the gateway refuses: if the session has ended, the person signs in again. */
  private async end(): Promise<void> {
    const answer = await fetch("/api/v1/session").catch(() => null);
    if (answer?.status === 401) expire(queryClient);
  }
}

function isLoaded({ queryKey }: { queryKey: readonly unknown[] }): boolean {
  return queryKey[0] === "channel" || queryKey[0] === "account";
}

export function backWords(missed: number | null | undefined): string {
  if (missed === null) return "Reconnected. Everything was loaded again.";
  if (!missed) return "Reconnected. Nothing happened while you were away.";
  return `Reconnected. ${missed} ${missed === 1 ? "update" : "updates"} while you were away.`;
}
