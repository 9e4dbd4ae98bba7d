import type { Query, QueryClient, QueryFilters } from "@tanstack/react-query";
import { type Change, keyOf, nameOf, PACE, TWICE } from "./table";

const PACE_MS = 1_000;
const JITTER = 0.3; // so that many open pages do not ask at the same moment
const LIVE_PAGES = 2; // a longer list is not loaded again while it is being read

/** Marks queries as out of date, and asks again for those on the screen, each not too often. */
export class Invalidator {
  private readonly waiting = new Map<string, { again: boolean }>();

  constructor(private readonly client: QueryClient) {}

  invalidate(changes: Change[]): void {
    const keys = new Map(changes.map((change) => [nameOf(change), change]));
    for (const [key, change] of keys) {
      const wait = this.waiting.get(key);
      if (wait) wait.again = true;
      else this.run(key, change, TWICE.has(change.kind));
    }
  }

  private run(key: string, change: Change, again: boolean): void {
    refresh(this.client, keyOf(change));
    const wait = { again };
    this.waiting.set(key, wait);
    const pace = (PACE[change.kind] ?? PACE_MS) * (1 + Math.random() * JITTER);
    setTimeout(() => {
      this.waiting.delete(key);
      if (wait.again) this.run(key, change, false);
    }, pace);
  }
}

const invalidators = new WeakMap<QueryClient, Invalidator>();

/** Asks again for what has changed, each not too often. */
export function askPaced(client: QueryClient, changes: Change[]): void {
  const invalidator = invalidators.get(client) ?? new Invalidator(client);
  invalidators.set(client, invalidator);
  invalidator.invalidate(changes);
}

function refresh(client: QueryClient, queryKey: string[]): void {
  const short = (query: Query) => pagesOf(query) <= LIVE_PAGES;
  void client.invalidateQueries({ queryKey, predicate: (query) => !short(query), refetchType: "none" });
  askAgain(client, { queryKey, predicate: short });
}

/** Asks again for the queries on the screen. A hidden page asks when it is visible again. */
export function askAgain(client: QueryClient, filters: QueryFilters): void {
  askAfterAnswer(client, filters);
  const refetchType = document.hidden ? "none" : "active";
  void client.invalidateQueries({ ...filters, refetchType }, { cancelRefetch: false });
}

const repeats = new WeakMap<Query, { waiting: boolean; at: number }>();

/** Asks once more for queries whose answer is on its way, because it may be older than a change. */
export function askAfterAnswer(client: QueryClient, filters: QueryFilters): void {
  askSlowly(client, { ...filters, fetchStatus: "fetching" });
}

/** Asks again for lists however long they are: one page in a second, so that many changes cause no more requests. */
export function askSlowly(client: QueryClient, filters: QueryFilters): void {
  for (const query of client.getQueryCache().findAll(filters)) {
    if (!repeats.get(query)?.waiting) void repeat(client, query);
  }
}

async function repeat(client: QueryClient, query: Query): Promise<void> {
  const last = repeats.get(query)?.at ?? 0;
  repeats.set(query, { waiting: true, at: last });
  // A request that another change began meanwhile may be older than a change during this wait: it is waited for too.
  do {
    await query.promise?.catch(() => {});
    const pace = PACE_MS * Math.max(1, pagesOf(query));
    const since = Math.max(0, Date.now() - last); // not less, if the clock was set back
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, pace - since)));
  } while (query.state.fetchStatus === "fetching");
  repeats.set(query, { waiting: false, at: Date.now() });
  const refetchType = document.hidden ? "none" : "active";
  await client.invalidateQueries({ queryKey: query.queryKey, exact: true, refetchType }, { cancelRefetch: false });
}

function pagesOf(query: Query): number {
  const data = query.state.data as { pages?: unknown[] } | undefined;
  return Array.isArray(data?.pages) ? data.pages.length : 0;
}
