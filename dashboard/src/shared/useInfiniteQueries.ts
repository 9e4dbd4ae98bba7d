import {
  type InfiniteData,
  InfiniteQueryObserver,
  type InfiniteQueryObserverOptions,
  type InfiniteQueryObserverResult,
  notifyManager,
  useQueryClient,
} from "@tanstack/react-query";
import { useCallback, useMemo, useRef, useSyncExternalStore } from "react";

export type PagesQuery<Page> = InfiniteQueryObserverOptions<
  Page,
  Error,
  InfiniteData<Page, string | null>,
  readonly unknown[],
  string | null
>;
type Result<Page> = InfiniteQueryObserverResult<InfiniteData<Page, string | null>, Error>;

/** Repeats what failed of several lists: a page that was asked for, or all that is loaded. */
export function repeatFailed<Page>(results: Result<Page>[]): void {
  for (const one of results) {
    if (one.error) void (one.isFetchNextPageError ? one.fetchNextPage() : one.refetch());
  }
}

/** Several lists that are loaded page by page, as `useQueries` does for other queries. */
export function useInfiniteQueries<Page>(options: PagesQuery<Page>[]): Result<Page>[] {
  const client = useQueryClient();
  const key = JSON.stringify(options.map(({ queryKey }) => queryKey));
  // biome-ignore lint/correctness/useExhaustiveDependencies: the keys are what distinguishes the options
  const observers = useMemo(() => options.map((one) => new InfiniteQueryObserver(client, one)), [client, key]);
  const last = useRef<Result<Page>[]>([]);
  const subscribe = useCallback(
    (changed: () => void) => {
      const ends = observers.map((observer) => observer.subscribe(notifyManager.batchCalls(changed)));
      return () => {
        for (const end of ends) end();
      };
    },
    [observers],
  );
  const read = useCallback(() => {
    const now = observers.map((observer) => observer.getCurrentResult());
    const same = now.length === last.current.length && now.every((one, index) => one === last.current[index]);
    if (!same) last.current = now;
    return last.current;
  }, [observers]);
  return useSyncExternalStore(subscribe, read);
}
