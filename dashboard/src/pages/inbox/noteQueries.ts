import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { ask, askNothing, askPage, type Schemas } from "../../shared/api/client";
import { useChannelScope } from "../../shared/channels";
import { channelKey } from "../../shared/lists";

export type Note = Schemas["Note"];

const notesKey = (channel: string, conversation: string) => [...channelKey(channel, "notes"), conversation];

/** The notes about a conversation, the newest first, page by page. */
export function useNotes(conversation: string) {
  const { id, api } = useChannelScope();
  return useInfiniteQuery({
    queryKey: notesKey(id, conversation),
    queryFn: ({ pageParam }) =>
      askPage(
        api.GET("/api/v1/conversations/{conversation_id}/notes", {
          params: { path: { conversation_id: conversation }, query: { limit: 20, cursor: pageParam ?? undefined } },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });
}

export function useAddNote(conversation: string) {
  const { id, api } = useChannelScope();
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ text, key }: { text: string; key: string }) =>
      ask(
        api.POST("/api/v1/conversations/{conversation_id}/notes", {
          params: { path: { conversation_id: conversation }, header: { "Idempotency-Key": key } },
          body: { text },
        }),
      ),
    onSuccess: () => client.invalidateQueries({ queryKey: notesKey(id, conversation) }),
  });
}

export function useDeleteNote(conversation: string) {
  const { id, api } = useChannelScope();
  const client = useQueryClient();
  return useMutation({
    mutationFn: (note: string) =>
      askNothing(
        api.DELETE("/api/v1/conversations/{conversation_id}/notes/{note_id}", {
          params: { path: { conversation_id: conversation, note_id: note } },
        }),
      ),
    onSuccess: () => client.invalidateQueries({ queryKey: notesKey(id, conversation) }),
  });
}
