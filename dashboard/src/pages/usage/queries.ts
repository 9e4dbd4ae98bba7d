import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, ask, type Schemas } from "../../shared/api/client";
import type { Days } from "./search";

export type Usage = Schemas["UsageReport"];
export type ChannelUsage = Schemas["ChannelUsage"];
export type FailureCount = Schemas["FailureCount"];

/** The usage of some days, of all channels or of one. */
export function useUsage({ from, to }: Days, channel?: string) {
  return useQuery({
    queryKey: ["account", "usage", from, to, channel],
    queryFn: () => ask(api.GET("/api/v1/account/usage", { params: { query: { from, to, channel } } })),
    placeholderData: keepPreviousData,
  });
}
