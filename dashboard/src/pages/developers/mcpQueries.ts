import { queryOptions, useMutation, useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, ask, askPage, channelApi, type Schemas } from "../../shared/api/client";
import type { paths } from "../../shared/api/schema";
import { useChannelScope } from "../../shared/channels";
import { channelKey, loadAll, showAnswer, useChannelPages } from "../../shared/lists";
import type { CallFilter } from "./search";

export type McpPolicy = Schemas["McpPolicy"];
export type PolicyRequest =
  paths["/api/v1/account/channels/{channel_id}/keys/{key_id}/policy"]["put"]["requestBody"]["content"]["application/json"];
export type McpCall = Schemas["McpCall"];

const STATE = ["account", "mcp"];
const POLICIES = "policies";
const CALLS = "calls";
const PAGE = 50;

/** Whether the assistants of the account are stopped, and the address of the MCP server. */
export function useMcpState() {
  return useQuery({ queryKey: STATE, queryFn: () => ask(api.GET("/api/v1/account/mcp")) });
}

/** Stops all assistants of the account, or lets them work again. */
export function useStopAssistants() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (stopped: boolean) => ask(api.PUT("/api/v1/account/mcp", { body: { stopped } })),
    onSuccess: (state) => showAnswer(client, STATE, state),
  });
}

const policyQuery = (channel: string, key: string) =>
  queryOptions({
    queryKey: [...channelKey(channel, POLICIES), key],
    queryFn: () =>
      ask(
        channelApi(channel).GET("/api/v1/account/channels/{channel_id}/keys/{key_id}/policy", {
          params: { path: { channel_id: channel, key_id: key } },
        }),
      ),
  });

export function usePolicy(key: string) {
  return useQuery(policyQuery(useChannelScope().id, key));
}

/** The policies of several keys, in their order. */
export function usePolicies(keys: string[]) {
  const { id } = useChannelScope();
  return useQueries({ queries: keys.map((key) => policyQuery(id, key)) });
}

export function useSavePolicy(key: string) {
  const { id } = useChannelScope();
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: PolicyRequest) =>
      ask(
        api.PUT("/api/v1/account/channels/{channel_id}/keys/{key_id}/policy", {
          params: { path: { channel_id: id, key_id: key } },
          body,
        }),
      ),
    onSuccess: (policy) => showAnswer(client, policyQuery(id, key).queryKey, policy),
  });
}

/** The names of all templates of the channel, for the rules about them. */
export function useTemplateNames(): string[] {
  const { id, api: ofChannel } = useChannelScope();
  const { data } = useQuery({
    queryKey: [...channelKey(id, "templates"), "names"],
    queryFn: async () => {
      const items = await loadAll((cursor) =>
        askPage(ofChannel.GET("/api/v1/templates", { params: { query: { limit: 100, cursor } } })),
      );
      return [...new Set(items.map(({ name }) => name))].sort();
    },
    staleTime: 60_000,
    retry: false, // a QR channel has none
  });
  return data ?? [];
}

/** The calls of tools, the newest first. */
export function useCalls(filter: CallFilter) {
  return useChannelPages(CALLS, filter, (ofChannel, cursor) =>
    askPage(ofChannel.GET("/api/v1/mcp/calls", { params: { query: { ...filter, limit: PAGE, cursor } } })),
  );
}
