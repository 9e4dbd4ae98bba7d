import { useQuery } from "@tanstack/react-query";
import { askPage, type Schemas } from "./api/client";
import { useChannelScope } from "./channels";
import { channelKey } from "./lists";

export type Label = Schemas["Label"];
export type LabelRef = Schemas["LabelRef"];

export const LABELS = "labels"; // the kind in the query cache

/** The labels of the channel, by name. */
export function useLabels() {
  const { id, api } = useChannelScope();
  return useQuery({
    queryKey: channelKey(id, LABELS),
    queryFn: async () => (await askPage(api.GET("/api/v1/labels"))).items,
    staleTime: 10_000,
  });
}
