import { askPage, channelApi, type Page, type Schemas } from "./api/client";
import { channelKey, rowsOf } from "./lists";
import { type PagesQuery, useInfiniteQueries } from "./useInfiniteQueries";

export type Draft = Schemas["Draft"];
export type DraftState = Draft["state"];

export const DRAFTS = "drafts"; // the kind in the query cache

const PAGE = 50;

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

export type DraftCount = { count: number; more: boolean };

/** How many drafts of these channels wait for a person, as far as they are loaded. */
export function useDraftCount(channels: string[]): DraftCount {
  const results = useInfiniteQueries(channels.map((channel) => draftsQuery(channel, "waiting")));
  return {
    count: results.reduce((sum, { data }) => sum + rowsOf<Draft>(data).length, 0),
    more: results.some(({ hasNextPage }) => hasNextPage),
  };
}
