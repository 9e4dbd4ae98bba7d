import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { StreamState } from "../../shared/stream/follow";
import { shareEvents } from "../../shared/stream/shared";
import { applyEvent, refreshEverything } from "./events";

/** How the live connection is; `lostOnce`: whether it was lost since the page was opened. */
export type Live = { state: StreamState; lostOnce: boolean };

const START: Live = { state: "connecting", lostOnce: false };
const KEY = ["inbox", "live"];
const WORST: StreamState[] = ["refused", "lost", "connecting", "live"];

/** Follows the events of channels while the inbox is open, and applies them to what is loaded. */
export function useLive(channels: string[]): Live {
  const client = useQueryClient();
  useEffect(() => {
    const states = new Map<string, StreamState>(channels.map((channel) => [channel, "connecting"]));
    client.setQueryData<Live>(KEY, START);
    const ends = channels.map((channel) =>
      shareEvents(channel, {
        onEvents: (events) => {
          for (const event of events) applyEvent(client, channel, event);
        },
        onState: (state) => {
          // What happened between loading the page and the start of the stream is in neither.
          if (state === "live" && states.get(channel) === "connecting") refreshEverything({ client, channel });
          states.set(channel, state);
          const worst = WORST.find((one) => [...states.values()].includes(one)) ?? "live";
          const before = client.getQueryData<Live>(KEY) ?? START;
          client.setQueryData<Live>(KEY, { state: worst, lostOnce: before.lostOnce || state === "lost" });
        },
      }),
    );
    return () => {
      for (const end of ends) end();
    };
  }, [channels, client]);
  const { data } = useQuery<Live>({ queryKey: KEY, queryFn: () => START, enabled: false, initialData: START });
  return data;
}
