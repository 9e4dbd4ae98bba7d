import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { useChannelScope } from "../../shared/channels";
import type { StreamState } from "../../shared/stream/follow";
import { shareEvents } from "../../shared/stream/shared";
import { applyEvent, refreshEverything } from "./events";

/** How the live connection is; `caught`: events that came after it was lost and found again. */
export type Live = { state: StreamState; lostOnce: boolean };

const START: Live = { state: "connecting", lostOnce: false };

/** Follows the events of the channel while the inbox is open, and applies them to what is loaded. */
export function useLive(): Live {
  const { id } = useChannelScope();
  const client = useQueryClient();
  useEffect(() => {
    const key = ["channel", id, "live"];
    client.setQueryData<Live>(key, START);
    return shareEvents(id, {
      onEvents: (events) => {
        for (const event of events) applyEvent(client, id, event);
      },
      onState: (state) => {
        const before = client.getQueryData<Live>(key) ?? START;
        // What happened between loading the page and the start of the stream is in neither.
        if (state === "live" && before.state === "connecting") refreshEverything({ client, channel: id });
        client.setQueryData<Live>(key, { state, lostOnce: before.lostOnce || state === "lost" });
      },
    });
  }, [id, client]);
  const { data } = useQuery<Live>({
    queryKey: ["channel", id, "live"],
    queryFn: () => START,
    enabled: false,
    initialData: START,
  });
  return data;
}
