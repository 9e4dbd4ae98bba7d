import { useQuery } from "@tanstack/react-query";
import { ask, type Schemas } from "../api/client";
import { useChannelScope } from "../channels";
import { channelKey } from "../lists";
import { isWaiting } from "./timeline";

export type Trace = Schemas["Trace"];

const WAITING_MS = 30_000; // the reason of a wait changes with time, and nothing reports it

/** What happened to one message. The live stream keeps it up to date, except for the reason of a wait. */
export function useTrace(message: string) {
  const { id, api } = useChannelScope();
  return useQuery({
    queryKey: [...channelKey(id, "trace"), message],
    queryFn: () => ask(api.GET("/api/v1/messages/{message_id}/trace", { params: { path: { message_id: message } } })),
    refetchInterval: ({ state: { data } }) => (data && isWaiting(data) ? WAITING_MS : false),
  });
}
