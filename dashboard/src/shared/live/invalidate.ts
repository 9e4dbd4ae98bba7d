import type { Query, QueryClient } from "@tanstack/react-query";
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

function refresh(client: QueryClient, queryKey: string[]): void {
  const short = (query: Query) => pagesOf(query) <= LIVE_PAGES;
  void client.invalidateQueries({ queryKey, predicate: (query) => !short(query), refetchType: "none" });
  // A hidden page asks when it is visible again.
  const refetchType = document.hidden ? "none" : "active";
  void client.invalidateQueries({ queryKey, predicate: short, refetchType }, { cancelRefetch: true });
  for (const query of client.getQueryCache().findAll({ queryKey, fetchStatus: "fetching" })) {
    // A first answer that is on its way may be older than the event, and is not cancelled.
    if (query.state.data === undefined) void again(client, query);
  }
}

async function again(client: QueryClient, query: Query): Promise<void> {
  await query.promise?.catch(() => {});
  await client.invalidateQueries({ queryKey: query.queryKey, exact: true });
}

function pagesOf(query: Query): number {
  const data = query.state.data as { pages?: unknown[] } | undefined;
  return Array.isArray(data?.pages) ? data.pages.length : 0;
}
