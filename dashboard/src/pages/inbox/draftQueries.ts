import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { ask, askPage } from "../../shared/api/client";
import { useChannelScope } from "../../shared/channels";
import { DRAFTS, type Draft, type DraftState, draftsQuery } from "../../shared/drafts";
import { channelKey, rowsOf, useChannelMutation } from "../../shared/lists";
import { repeatFailed, useInfiniteQueries } from "../../shared/useInfiniteQueries";
import { mergeBy } from "./merge";
import { putMessage } from "./patches";
import { askMessage, type SendRequest } from "./queries";

export type { Draft, DraftState };
export type DraftMessage = Record<string, unknown>;

const PAGE = 50;

export const draftKeys = {
  of: (channel: string, conversation: string) => [...channelKey(channel, DRAFTS), "of", conversation],
  ones: (channel: string) => [...channelKey(channel, DRAFTS), "one"],
};

/** The drafts of one or several channels, the newest first, page by page. */
export function useDraftList(channels: string[], state: DraftState) {
  const results = useInfiniteQueries(channels.map((channel) => draftsQuery(channel, state)));
  const merged = useMemo(() => {
    const lists = channels.map((channel, index) => {
      const one = results[index];
      return { channel, items: rowsOf<Draft>(one?.data), more: !one?.data || one.hasNextPage };
    });
    return mergeBy(lists, ({ id }) => id);
  }, [results, channels]);
  const next = results.filter((_, index) => merged.next.includes(channels[index] ?? ""));
  return {
    rows: merged.rows,
    isPending: results.some(({ isPending }) => isPending),
    error: results.find(({ error }) => error)?.error ?? null,
    hasNextPage: next.length > 0,
    isFetchingNextPage: next.some(({ isFetchingNextPage }) => isFetchingNextPage),
    isFetchNextPageError: next.some(({ isFetchNextPageError }) => isFetchNextPageError),
    isRefetching: next.some(({ isRefetching }) => isRefetching),
    fetchNextPage: (options: { cancelRefetch: boolean }) =>
      Promise.all(next.map((one) => one.data && one.fetchNextPage(options))),
    retry: () => repeatFailed(results),
  };
}

/** The drafts of a conversation that wait for a person, the oldest first. */
export function useWaitingDrafts(conversation: string) {
  const { id, api } = useChannelScope();
  return useQuery({
    queryKey: draftKeys.of(id, conversation),
    queryFn: async () => {
      const query = { state: "waiting", conversation, limit: PAGE } as const;
      return (await askPage(api.GET("/api/v1/drafts", { params: { query } }))).items.toReversed();
    },
  });
}

export function useDraft(draft: string) {
  const { id, api } = useChannelScope();
  return useQuery({
    queryKey: [...draftKeys.ones(id), draft],
    queryFn: () => ask(api.GET("/api/v1/drafts/{draft_id}", { params: { path: { draft_id: draft } } })),
  });
}

export type Approval = { revision: number; anyway: boolean };

/** Sends a draft as the person saw it: one that was changed since then is not sent. */
export function useApproveDraft(draft: string) {
  const { id } = useChannelScope();
  const client = useQueryClient();
  return useChannelMutation([DRAFTS], async (api, body: Approval) => {
    const sent = await ask(
      api.POST("/api/v1/drafts/{draft_id}/approve", { params: { path: { draft_id: draft } }, body }),
    );
    const message = sent.message_id ? await askMessage(id, sent.message_id) : null;
    if (message) putMessage(client, id, message);
    return sent;
  });
}

export type DraftEdit = { message: DraftMessage; revision: number };

/** Replaces the message of a draft, unless somebody else has edited it. */
export function useEditDraft(draft: string) {
  return useChannelMutation([DRAFTS], (api, { message, revision }: DraftEdit) => {
    const body = { message: message as SendRequest, revision }; // a draft holds a request that was checked
    return ask(api.PATCH("/api/v1/drafts/{draft_id}", { params: { path: { draft_id: draft } }, body }));
  });
}

export function useRefuseDraft(draft: string) {
  return useChannelMutation([DRAFTS], (api, comment: string | null) =>
    ask(api.POST("/api/v1/drafts/{draft_id}/refuse", { params: { path: { draft_id: draft } }, body: { comment } })),
  );
}
