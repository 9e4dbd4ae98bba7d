import { useQuery } from "@tanstack/react-query";
import { askPage, type Schemas } from "./api/client";
import { useChannelScope } from "./channels";

export type Label = Schemas["Label"];
export type LabelRef = Schemas["LabelRef"];

export const labelsKey = (channel: string) => ["channel", channel, "labels"];

/** The labels of the channel, by name. */
export function useLabels() {
  const { id, api } = useChannelScope();
  return useQuery({
    queryKey: labelsKey(id),
    queryFn: async () => (await askPage(api.GET("/api/v1/labels"))).items,
    staleTime: 10_000,
  });
}
