import { queryOptions, useQueries, useQuery } from "@tanstack/react-query";
import { askPage, channelApi, type Schemas } from "./api/client";
import { useChannelScope } from "./channels";
import { channelKey } from "./lists";

export type Label = Schemas["Label"];
export type LabelRef = Schemas["LabelRef"];

export const LABELS = "labels"; // the kind in the query cache

const labelsQuery = (channel: string) =>
  queryOptions({
    queryKey: channelKey(channel, LABELS),
    queryFn: async () => (await askPage(channelApi(channel).GET("/api/v1/labels"))).items,
    staleTime: 10_000,
  });

/** The labels of the channel, by name. */
export function useLabels() {
  return useQuery(labelsQuery(useChannelScope().id));
}

/** The labels of several channels, each undefined while they are loaded. */
export function useLabelsOf(channels: string[]) {
  return useQueries({
    queries: channels.map(labelsQuery),
    combine: (results) => ({
      lists: results.map(({ data }) => data),
      failed: results.filter(({ data, error }) => error && !data),
    }),
  });
}
