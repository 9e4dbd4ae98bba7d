import {
  keepPreviousData,
  type QueryClient,
  type QueryFilters,
  type Updater,
  type UseMutationResult,
  useInfiniteQuery,
  useMutation,
  useQueryClient,
} from "@tanstack/react-query";
import type { Api, Page } from "./api/client";
import { useChannelScope } from "./channels";

/** The key of everything that the query cache has of one kind, such as "orders", of a channel. */
export function channelKey(channel: string, kind: string): string[] {
  return ["channel", channel, kind];
}

type Load<Item> = (api: Api, cursor: string | undefined) => Promise<Page<Item>>;

/** A list, page by page. While another filter is loaded, the rows of the one before are shown. */
export function usePages<Item>(queryKey: unknown[], load: (cursor: string | undefined) => Promise<Page<Item>>) {
  return useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) => load(pageParam ?? undefined),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
  });
}

/** A list of the channel, page by page. `filter` is what `load` asks for. The live stream keeps it up to date. */
export function useChannelPages<Item>(kind: string, filter: object, load: Load<Item>) {
  const { id, api } = useChannelScope();
  return usePages([...channelKey(id, kind), "list", filter], (cursor) => load(api, cursor));
}

type Growing = {
  isRefetching: boolean;
  fetchNextPage: (options: { cancelRefetch: boolean }) => Promise<unknown>;
};

/** Loads the next page. Pages that are being loaded again because of a change come first: that is not cancelled. */
export async function loadNext({ isRefetching, fetchNextPage }: Growing): Promise<void> {
  if (isRefetching) await fetchNextPage({ cancelRefetch: false }); // waits for the request that is on its way
  await fetchNextPage({ cancelRefetch: false });
}

/** All rows of a list, for a choice among them. */
export async function loadAll<Item>(load: (cursor: string | undefined) => Promise<Page<Item>>): Promise<Item[]> {
  const all: Item[] = [];
  let cursor: string | undefined;
  do {
    const { items, next } = await load(cursor);
    all.push(...items);
    cursor = next ?? undefined;
  } while (cursor);
  return all;
}

/** The rows of all pages that are loaded. */
export function rowsOf<Item>(data: { pages: Page<Item>[] } | undefined): Item[] {
  return data?.pages.flatMap((page) => page.items) ?? [];
}

/** Changes what is loaded. What was out of date stays so: `setQueryData` alone would make it look just loaded. */
export function patch<Data>(
  client: QueryClient,
  filters: QueryFilters,
  change: (data: Data, queryKey: readonly unknown[]) => Data,
): void {
  for (const query of client.getQueryCache().findAll(filters)) {
    const before = query.state.data as Data | undefined;
    const after = before === undefined ? undefined : change(before, query.queryKey);
    if (after === before) continue;
    const { isInvalidated } = query.state;
    client.setQueryData(query.queryKey, after);
    if (isInvalidated) query.invalidate();
  }
}

/** Shows the answer to a change. What is on its way may be older than it, and is asked again. */
export function showAnswer<Data>(
  client: QueryClient,
  queryKey: string[],
  data: Updater<Data | undefined, Data | undefined>,
): void {
  client.setQueryData<Data>(queryKey, data);
  void client.invalidateQueries({ queryKey });
}

/** A change of something of the channel. What the cache has of these kinds is asked again afterwards. */
export function useChannelMutation<Input, Output>(
  kinds: string[],
  run: (api: Api, input: Input) => Promise<Output>,
): UseMutationResult<Output, Error, Input> {
  const { id, api } = useChannelScope();
  const client = useQueryClient();
  return useMutation({
    mutationFn: (input: Input) => run(api, input),
    onSuccess: () =>
      Promise.all(kinds.map((kind) => client.invalidateQueries({ queryKey: channelKey(id, kind) }))).then(() => {}),
  });
}
