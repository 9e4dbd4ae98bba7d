import {
  type InfiniteData,
  type QueryClient,
  queryOptions,
  useInfiniteQuery,
  useMutation,
  useQueries,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useMemo } from "react";
import { ask, askNothing, askPage, askPart, channelApi, type Page, type Schemas } from "../../shared/api/client";
import { useChannelScope } from "../../shared/channels";
import { useLabelsOf } from "../../shared/labels";
import { channelKey, loadAll, rowsOf } from "../../shared/lists";
import { useSession } from "../../shared/session/queries";
import { type PagesQuery, repeatFailed, useInfiniteQueries } from "../../shared/useInfiniteQueries";
import { mergeLists } from "./merge";
import { changeMessage, putMessage, takeOver } from "./patches";
import { type InboxSearch, type ListFilter, toFilter } from "./search";

export type Conversation = Schemas["Conversation"];
export type Message = Schemas["Message"];
export type Template = Schemas["TemplateShown"];
export type ChannelInfo = Schemas["Channel"];
export type SendRequest = Schemas["SendRequest"];
export type Media = Schemas["Media"];
export type ConversationChange = Schemas["ConversationChange"];
export type Counts = Schemas["ConversationCounts"];
export type ConversationPages = InfiniteData<Page<Conversation>, string | null>;
export type MessagePages = InfiniteData<Page<Message>, string | null>;

const LIST_PAGE = 50;
const THREAD_PAGE = 50;
const COUNTS_MS = 60_000; // which windows close soon changes with time
const FRESH = Number.POSITIVE_INFINITY; // events keep it up to date

export const keys = {
  lists: (channel: string) => ["channel", channel, "conversations"],
  list: (channel: string, filter: ListFilter) => ["channel", channel, "conversations", filter],
  counts: (channel: string) => ["channel", channel, "counts"],
  threads: (channel: string) => ["channel", channel, "thread"],
  thread: (channel: string, conversation: string) => ["channel", channel, "thread", conversation],
  conversations: (channel: string) => ["channel", channel, "conversation"],
  conversation: (channel: string, id: string) => ["channel", channel, "conversation", id],
  labels: (channel: string) => channelKey(channel, "labels"),
  templates: (channel: string) => ["channel", channel, "templates", "approved"],
  info: (channel: string) => ["channel", channel, "info"],
};

const listQuery = (channel: string, filter: ListFilter): PagesQuery<Page<Conversation>> => ({
  queryKey: keys.list(channel, filter),
  queryFn: ({ pageParam }) =>
    askPage(
      channelApi(channel).GET("/api/v1/conversations", {
        params: { query: { ...filter, limit: LIST_PAGE, cursor: pageParam ?? undefined } },
      }),
    ),
  initialPageParam: null,
  getNextPageParam: (page) => page.next,
  staleTime: FRESH,
});

/** The conversations of one or several channels, the newest first, page by page. */
export function useInboxList(search: InboxSearch, channels: string[]) {
  const user = useSession().user.id;
  const { lists: labels, failed } = useLabelsOf(search.label ? channels : []);
  const filters = channels.flatMap((channel, index) => {
    const filter = toFilter(search, user);
    if (!search.label) return [{ channel, filter }];
    const label = labels[index]?.find(({ name }) => name.toLowerCase() === search.label?.toLowerCase());
    return label ? [{ channel, filter: { ...filter, label: label.id } }] : [];
  });
  const results = useInfiniteQueries(filters.map(({ channel, filter }) => listQuery(channel, filter)));
  const listed = filters.map(({ channel }) => channel).join(" ");
  const lists = filters.map(({ channel }, index) => ({ channel, result: results[index] }));
  const merged = useMemo(() => {
    const loaded = (one: (typeof results)[number] | undefined, channel: string) => ({
      channel,
      items: rowsOf(one?.data),
      more: !one?.data || one.hasNextPage,
    });
    return mergeLists(listed.split(" ").flatMap((channel, index) => (channel ? loaded(results[index], channel) : [])));
  }, [results, listed]);
  const waiting = lists.filter(({ channel }) => merged.next.includes(channel));
  return {
    rows: merged.rows,
    isPending: labels.includes(undefined) || results.some(({ isPending }) => isPending),
    hasMore: waiting.length > 0,
    isLoadingMore: waiting.some(({ result }) => result?.isFetchingNextPage),
    error: [...failed, ...results].find(({ error }) => error)?.error ?? null,
    isMoreFailed: results.some(({ isFetchNextPageError }) => isFetchNextPageError),
    loadMore: () => {
      for (const { result } of waiting)
        if (result?.data && !result.isFetchingNextPage) void result.fetchNextPage({ cancelRefetch: false });
    },
    retry: () => {
      for (const { refetch } of failed) void refetch();
      repeatFailed(results);
    },
  };
}

const countsQuery = (channel: string) =>
  queryOptions({
    queryKey: keys.counts(channel),
    queryFn: () => ask(channelApi(channel).GET("/api/v1/conversations/counts")),
    refetchInterval: COUNTS_MS,
  });

/** How many conversations of these channels need work. */
export function useCounts(channels: string[]): Partial<Counts> {
  return useQueries({
    queries: channels.map(countsQuery),
    combine: (results) => sumCounts(results.flatMap(({ data }) => data ?? [])),
  });
}

export function sumCounts(counts: Counts[]): Partial<Counts> {
  const sum = (read: (one: Counts) => number | null) => counts.reduce((total, one) => total + (read(one) ?? 0), 0);
  if (counts.length === 0) return {};
  return {
    open: sum(({ open }) => open),
    unread: sum(({ unread }) => unread),
    mine: sum(({ mine }) => mine),
    unassigned: sum(({ unassigned }) => unassigned),
    closing: sum(({ closing }) => closing),
    complete: counts.every(({ complete }) => complete),
  };
}

/** One conversation. What the list knows of it is shown until the answer is there. */
export function useConversation(conversation: string) {
  const { id, api } = useChannelScope();
  const client = useQueryClient();
  return useQuery({
    queryKey: keys.conversation(id, conversation),
    queryFn: () =>
      ask(api.GET("/api/v1/conversations/{conversation_id}", { params: { path: { conversation_id: conversation } } })),
    placeholderData: () => findInLists(client, id, conversation),
    staleTime: FRESH,
  });
}

function findInLists(client: QueryClient, channel: string, conversation: string): Conversation | undefined {
  const lists = client.getQueriesData<ConversationPages>({ queryKey: keys.lists(channel) });
  return lists
    .flatMap(([, data]) => data?.pages.flatMap((page) => page.items) ?? [])
    .find(({ id }) => id === conversation);
}

/** The messages of a conversation, the newest first, page by page. */
export function useThread(conversation: string) {
  const { id, api } = useChannelScope();
  return useInfiniteQuery({
    queryKey: keys.thread(id, conversation),
    queryFn: ({ pageParam }) =>
      askPage(
        api.GET("/api/v1/conversations/{conversation_id}/messages", {
          params: {
            path: { conversation_id: conversation },
            query: { limit: THREAD_PAGE, cursor: pageParam ?? undefined },
          },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    staleTime: FRESH,
  });
}

type Part = Page<Message> & { previous: string | null };

/** The messages before and after one of a conversation, the newest first, page by page in both directions. */
export function useThreadAround(conversation: string, message: string | null) {
  const { id, api } = useChannelScope();
  return useInfiniteQuery({
    queryKey: [...keys.thread(id, conversation), "around", message],
    queryFn: async ({ pageParam }): Promise<Part> => {
      const where = pageParam ? { cursor: pageParam } : { around: message ?? "" };
      const query = { limit: THREAD_PAGE, ...where };
      return askPart(api.GET("/api/v1/messages", { params: { query } }));
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    getPreviousPageParam: (page) => page.previous,
    enabled: message !== null,
    staleTime: FRESH,
    gcTime: 0,
  });
}

/** What the channel can do, and how it is. */
export function useChannelInfo() {
  const { id, api } = useChannelScope();
  return useQuery({ queryKey: keys.info(id), queryFn: () => ask(api.GET("/api/v1/channel")), staleTime: 60_000 });
}

/** The templates that can be sent. Only official channels have templates. */
export function useTemplates(enabled: boolean) {
  const { id, api } = useChannelScope();
  return useQuery({
    queryKey: keys.templates(id),
    queryFn: () =>
      loadAll((cursor) =>
        askPage(api.GET("/api/v1/templates", { params: { query: { status: "APPROVED", limit: 100, cursor } } })),
      ),
    enabled,
    staleTime: 60_000,
  });
}

/** One message, or nothing if it cannot be read. */
export async function askMessage(channel: string, message: string): Promise<Message | null> {
  const params = { path: { message_id: message } };
  return ask(channelApi(channel).GET("/api/v1/messages/{message_id}", { params })).catch(() => null);
}

export type Sending = { body: SendRequest; key: string };

/** Sends a message. The key makes a repeated request safe: the gateway executes it once. */
export function useSend() {
  const { id, api } = useChannelScope();
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ body, key }: Sending) =>
      ask(api.POST("/api/v1/message/send", { body, params: { header: { "Idempotency-Key": key } } })),
    onSuccess: async (accepted) => {
      const message = await askMessage(id, accepted.key.id);
      if (message) putMessage(client, id, message);
    },
  });
}

/** Uploads a file. The same key stores it once, however often it is tried. */
export function useUpload() {
  const { api } = useChannelScope();
  return useMutation({
    mutationFn: ({ file, key }: { file: File; key: string }) =>
      ask(
        api.POST("/api/v1/media", {
          params: { header: { "Idempotency-Key": key } },
          body: { file: "" },
          bodySerializer: () => {
            const form = new FormData();
            form.append("file", file, file.name);
            return form;
          },
        }),
      ),
  });
}

/** Changes a conversation. Only these fields are shown as answered: events may have brought newer values of others. */
export function useChangeConversation(conversation: string) {
  const { id, api } = useChannelScope();
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: ConversationChange) =>
      ask(
        api.PATCH("/api/v1/conversations/{conversation_id}", {
          params: { path: { conversation_id: conversation } },
          body,
        }),
      ),
    onSuccess: (changed, body) => takeOver(client, id, changed, Object.keys(body) as (keyof ConversationChange)[]),
  });
}

export function useMarkRead() {
  const { id, api } = useChannelScope();
  const client = useQueryClient();
  return useMutation({
    mutationFn: (conversation: string) =>
      ask(
        api.POST("/api/v1/conversations/{conversation_id}/read", {
          params: { path: { conversation_id: conversation } },
        }),
      ),
    onSuccess: (read) => takeOver(client, id, read, ["unread"]),
  });
}

export function useShowTyping(conversation: string) {
  const { api } = useChannelScope();
  return useMutation({
    mutationFn: () =>
      askNothing(
        api.POST("/api/v1/conversations/{conversation_id}/typing", {
          params: { path: { conversation_id: conversation } },
        }),
      ),
  });
}

/** Puts a label on a conversation, or takes it off. */
export function useSetLabel(conversation: string) {
  const { id, api } = useChannelScope();
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ label, on }: { label: string; on: boolean }) => {
      const path = { conversation_id: conversation, label_id: label };
      const address = "/api/v1/conversations/{conversation_id}/labels/{label_id}";
      return askNothing(on ? api.PUT(address, { params: { path } }) : api.DELETE(address, { params: { path } }));
    },
    onSuccess: () => client.invalidateQueries({ queryKey: keys.conversation(id, conversation) }),
  });
}

export function useCreateLabel() {
  const { id, api } = useChannelScope();
  const client = useQueryClient();
  return useMutation({
    mutationFn: (name: string) => ask(api.POST("/api/v1/labels", { body: { name } })),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.labels(id) }),
  });
}

/** The address of a file for a picture, a player or a download. */
export function fileAddress(channel: string, media: string): string {
  return `/api/v1/media/${encodeURIComponent(media)}/content?channel=${encodeURIComponent(channel)}`;
}

/** Cancels a message that was not sent yet. */
export function useCancelMessage() {
  const { id, api } = useChannelScope();
  const client = useQueryClient();
  return useMutation({
    mutationFn: (message: string) =>
      askNothing(api.POST("/api/v1/messages/{message_id}/cancel", { params: { path: { message_id: message } } })),
    onSuccess: (_, message) =>
      changeMessage(client, id, message, (before) => ({ ...before, status: "CANCELED", waiting: undefined })),
  });
}

/** Changes the text of a message that was sent, where the network can. */
export function useEditMessage() {
  const { id: channel, api } = useChannelScope();
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, body }: { id: string; body: string }) =>
      ask(api.PATCH("/api/v1/messages/{message_id}", { params: { path: { message_id: id } }, body: { body } })),
    onSuccess: ({ key, content, edited_at }) =>
      changeMessage(client, channel, key.id, (before) => ({ ...before, content, edited_at })),
  });
}

/** Deletes a message for everyone, where the network can. */
export function useDeleteMessage() {
  const { id, api } = useChannelScope();
  const client = useQueryClient();
  return useMutation({
    mutationFn: (message: string) =>
      askNothing(api.DELETE("/api/v1/messages/{message_id}", { params: { path: { message_id: message } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.threads(id) }),
  });
}
