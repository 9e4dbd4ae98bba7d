import {
  type InfiniteData,
  type QueryClient,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { ask, askPage, type Page, type Schemas, tell } from "../../shared/api/client";
import { useChannelScope } from "../../shared/channels";
import { useSession } from "../../shared/session/queries";
import { putConversation, putMessage } from "./patches";
import { type InboxSearch, type ListFilter, toFilter } from "./search";

export type Conversation = Schemas["Conversation"];
export type Message = Schemas["Message"];
export type Label = Schemas["Label"];
export type LabelRef = Schemas["LabelRef"];
export type Template = Schemas["TemplateShown"];
export type Trace = Schemas["Trace"];
export type ChannelInfo = Schemas["Channel"];
export type SendRequest = Schemas["SendRequest"];
export type Media = Schemas["Media"];
export type ConversationChange = Schemas["ConversationChange"];
export type ConversationPages = InfiniteData<Page<Conversation>, string | null>;
export type MessagePages = InfiniteData<Page<Message>, string | null>;

const LIST_PAGE = 50;
const THREAD_PAGE = 50;
const FRESH = Number.POSITIVE_INFINITY; // events keep it up to date

export const keys = {
  lists: (channel: string) => ["channel", channel, "conversations"],
  list: (channel: string, filter: ListFilter) => ["channel", channel, "conversations", filter],
  counts: (channel: string) => ["channel", channel, "counts"],
  threads: (channel: string) => ["channel", channel, "thread"],
  thread: (channel: string, conversation: string) => ["channel", channel, "thread", conversation],
  conversations: (channel: string) => ["channel", channel, "conversation"],
  conversation: (channel: string, id: string) => ["channel", channel, "conversation", id],
  labels: (channel: string) => ["channel", channel, "labels"],
  templates: (channel: string) => ["channel", channel, "templates", "approved"],
  info: (channel: string) => ["channel", channel, "info"],
  trace: (channel: string, message: string) => ["channel", channel, "trace", message],
};

/** The conversations, the newest first, page by page. */
export function useConversations(search: InboxSearch) {
  const { id, api } = useChannelScope();
  const filter = toFilter(search, useSession().user.id);
  return useInfiniteQuery({
    queryKey: keys.list(id, filter),
    queryFn: ({ pageParam }) =>
      askPage(
        api.GET("/api/v1/conversations", {
          params: { query: { ...filter, limit: LIST_PAGE, cursor: pageParam ?? undefined } },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    staleTime: FRESH,
  });
}

/** How many conversations need work. */
export function useCounts() {
  const { id, api } = useChannelScope();
  return useQuery({
    queryKey: keys.counts(id),
    queryFn: () => ask(api.GET("/api/v1/conversations/counts")),
    refetchInterval: 60_000,
  });
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

/** What the channel can do, and how it is. */
export function useChannelInfo() {
  const { id, api } = useChannelScope();
  return useQuery({ queryKey: keys.info(id), queryFn: () => ask(api.GET("/api/v1/channel")), staleTime: 60_000 });
}

export function useLabels() {
  const { id, api } = useChannelScope();
  return useQuery({
    queryKey: keys.labels(id),
    queryFn: async () => (await askPage(api.GET("/api/v1/labels"))).items,
    staleTime: FRESH,
  });
}

/** The templates that can be sent. Only official channels have templates. */
export function useTemplates(enabled: boolean) {
  const { id, api } = useChannelScope();
  return useQuery({
    queryKey: keys.templates(id),
    queryFn: async () =>
      (await askPage(api.GET("/api/v1/templates", { params: { query: { status: "APPROVED", limit: 100 } } }))).items,
    enabled,
    staleTime: 60_000,
  });
}

const TRACE_MS = 2_000;

export function useTrace(message: string) {
  const { id, api } = useChannelScope();
  return useQuery({
    queryKey: keys.trace(id, message),
    queryFn: () => ask(api.GET("/api/v1/messages/{message_id}/trace", { params: { path: { message_id: message } } })),
    refetchInterval: TRACE_MS,
  });
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
      const path = { message_id: accepted.key.id };
      const message = await ask(api.GET("/api/v1/messages/{message_id}", { params: { path } })).catch(() => null);
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

/** Changes a conversation; the cache shows the answer of the gateway. */
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
    onSuccess: (changed) => putConversation(client, id, changed),
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
    onSuccess: (conversation) => putConversation(client, id, conversation),
  });
}

export function useShowTyping(conversation: string) {
  const { api } = useChannelScope();
  return useMutation({
    mutationFn: () =>
      tell(
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
      return tell(on ? api.PUT(address, { params: { path } }) : api.DELETE(address, { params: { path } }));
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

/** Deletes a message for everyone, where the network can. */
export function useDeleteMessage() {
  const { id, api } = useChannelScope();
  const client = useQueryClient();
  return useMutation({
    mutationFn: (message: string) =>
      tell(api.DELETE("/api/v1/messages/{message_id}", { params: { path: { message_id: message } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.threads(id) }),
  });
}
