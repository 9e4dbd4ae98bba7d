import { useQuery } from "@tanstack/react-query";
import { ask, type Schemas } from "../api/client";
import { useChannelScope } from "../channels";
import { channelKey } from "../lists";
import { isFinished } from "./timeline";

export type Trace = Schemas["Trace"];

const UNFINISHED_MS = 1_000;
const FINISHED_MS = 10_000; // a status or a webhook may still follow

/** What happened to one message, asked again while more is to come. */
export function useTrace(message: string) {
  const { id, api } = useChannelScope();
  return useQuery({
    queryKey: [...channelKey(id, "trace"), message],
    queryFn: () => ask(api.GET("/api/v1/messages/{message_id}/trace", { params: { path: { message_id: message } } })),
    refetchInterval: ({ state: { data } }) => (data && isFinished(data) ? FINISHED_MS : UNFINISHED_MS),
  });
}
