import { useQuery } from "@tanstack/react-query";
import { ask } from "../../shared/api/client";
import { useChannelScope } from "../../shared/channels";
import { channelKey, useChannelMutation } from "../../shared/lists";

const HANDOVERS = "handovers";

/** Which assistants have handed a conversation over to people, and why. */
export function useHandOvers(conversation: string) {
  const { id, api } = useChannelScope();
  return useQuery({
    queryKey: [...channelKey(id, HANDOVERS), conversation],
    queryFn: () =>
      ask(
        api.GET("/api/v1/conversations/{conversation_id}/hand-over", {
          params: { path: { conversation_id: conversation } },
        }),
      ),
  });
}

/** Lets the assistants write in a conversation again. */
export function useGiveBack(conversation: string) {
  return useChannelMutation([HANDOVERS], (api, _: undefined) =>
    ask(
      api.DELETE("/api/v1/conversations/{conversation_id}/hand-over", {
        params: { path: { conversation_id: conversation } },
      }),
    ),
  );
}
