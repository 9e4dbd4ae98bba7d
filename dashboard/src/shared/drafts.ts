import { queryOptions, useQueries } from "@tanstack/react-query";
import { ask, askPage, channelApi, type Page, type Schemas } from "./api/client";
import { channelKey } from "./lists";
import type { PagesQuery } from "./useInfiniteQueries";

export type Draft = Schemas["Draft"];
export type DraftState = Draft["state"];

export const DRAFTS = "drafts"; // the kind in the query cache

const PAGE = 50;
const COUNT_MS = 60_000; // a draft expires without a message about it

/** The drafts of a channel in one state, the newest first, page by page. */
export const draftsQuery = (channel: string, state: DraftState): PagesQuery<Page<Draft>> => ({
  queryKey: [...channelKey(channel, DRAFTS), "list", state],
  queryFn: ({ pageParam }) =>
    askPage(
      channelApi(channel).GET("/api/v1/drafts", {
        params: { query: { state, limit: PAGE, cursor: pageParam ?? undefined } },
      }),
    ),
  initialPageParam: null,
  getNextPageParam: (page) => page.next,
});

const countQuery = (channel: string) =>
  queryOptions({
    queryKey: [...channelKey(channel, DRAFTS), "count"],
    queryFn: () => ask(channelApi(channel).GET("/api/v1/drafts/counts")),
    refetchInterval: COUNT_MS,
  });

/** How many drafts of these channels wait for a person. */
export function useDraftCount(channels: string[]): number {
  return useQueries({
    queries: channels.map(countQuery),
    combine: (results) => results.reduce((sum, { data }) => sum + (data?.waiting ?? 0), 0),
  });
}
