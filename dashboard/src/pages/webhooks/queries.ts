import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ask, askPage, type Schemas, tell } from "../../shared/api/client";
import { useChannelScope } from "../../shared/channels";
import { type LogSearch, toQuery } from "./search";

export type Webhook = Schemas["Webhook"];
export type NewWebhook = Schemas["NewWebhook"];
export type Delivery = Schemas["Delivery"];
export type Attempt = Schemas["DeliveryAttempt"];
export type Trial = Schemas["Trial"];
export type Recovery = Schemas["Recovery"];
export type CreateEndpoint = Schemas["CreateEndpoint"];
export type ChangeEndpoint = Schemas["ChangeEndpoint"];
export type RecoverRequest = Schemas["RecoverRequest"];

const REFRESH_MS = 5_000;
const PROGRESS_MS = 1_000;
const LIVE_PAGES = 2; // a longer list is not refreshed while it is being read
const PAGE = 50;

const keys = {
  endpoints: (channel: string) => ["channel", channel, "webhooks"],
  deliveries: (channel: string) => ["channel", channel, "deliveries"],
  recoveries: (channel: string, endpoint: string) => ["channel", channel, "recoveries", endpoint],
};

export function useEndpoints() {
  const { id, api } = useChannelScope();
  return useQuery({
    queryKey: keys.endpoints(id),
    queryFn: async () => (await askPage(api.GET("/api/v1/webhooks"))).items,
    refetchInterval: REFRESH_MS,
  });
}

export function useCreateEndpoint() {
  const { id, api } = useChannelScope();
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: CreateEndpoint) => ask(api.POST("/api/v1/webhooks", { body })),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.endpoints(id) }),
  });
}

/** Changes an endpoint. The list shows the answer of the gateway, and nothing before it. */
export function useChangeEndpoint(endpoint: string) {
  const { id, api } = useChannelScope();
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: ChangeEndpoint) =>
      ask(api.PATCH("/api/v1/webhooks/{endpoint_id}", { params: { path: { endpoint_id: endpoint } }, body })),
    onSuccess: async (changed) => {
      await client.cancelQueries({ queryKey: keys.endpoints(id) }); // an answer on its way may be older
      client.setQueryData<Webhook[]>(keys.endpoints(id), (list) =>
        list?.map((one) => (one.id === changed.id ? changed : one)),
      );
    },
  });
}

export function useDeleteEndpoint(endpoint: string) {
  const { id, api } = useChannelScope();
  const client = useQueryClient();
  return useMutation({
    mutationFn: () =>
      tell(api.DELETE("/api/v1/webhooks/{endpoint_id}", { params: { path: { endpoint_id: endpoint } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.endpoints(id) }),
  });
}

export function useRotateSecret(endpoint: string) {
  const { id, api } = useChannelScope();
  const client = useQueryClient();
  return useMutation({
    mutationFn: (overlap: number) =>
      ask(
        api.POST("/api/v1/webhooks/{endpoint_id}/rotate-secret", {
          params: { path: { endpoint_id: endpoint } },
          body: { overlap },
        }),
      ),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.endpoints(id) }),
  });
}

export function useTestEndpoint(endpoint: string) {
  const { api } = useChannelScope();
  return useMutation({
    mutationFn: (type: Schemas["TrialRequest"]["type"]) =>
      ask(
        api.POST("/api/v1/webhooks/{endpoint_id}/test", {
          params: { path: { endpoint_id: endpoint } },
          body: { type },
        }),
      ),
  });
}

/** The recoveries of an endpoint, the newest first; asked often while one is running. */
export function useRecoveries(endpoint: string) {
  const { id, api } = useChannelScope();
  return useQuery({
    queryKey: keys.recoveries(id, endpoint),
    queryFn: async () =>
      (
        await askPage(
          api.GET("/api/v1/webhooks/{endpoint_id}/recoveries", {
            params: { path: { endpoint_id: endpoint }, query: { limit: 5 } },
          }),
        )
      ).items,
    refetchInterval: (query) => (query.state.data?.some((one) => one.status === "running") ? PROGRESS_MS : false),
  });
}

export function useRecover(endpoint: string) {
  const { id, api } = useChannelScope();
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: RecoverRequest) =>
      ask(api.POST("/api/v1/webhooks/{endpoint_id}/recover", { params: { path: { endpoint_id: endpoint } }, body })),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.recoveries(id, endpoint) }),
  });
}

/** The log of deliveries, the newest first, page by page. */
export function useDeliveries(search: LogSearch) {
  const { id, api } = useChannelScope();
  const query = toQuery(search);
  return useInfiniteQuery({
    queryKey: [...keys.deliveries(id), query],
    queryFn: ({ pageParam }) =>
      askPage(
        api.GET("/api/v1/deliveries", { params: { query: { ...query, limit: PAGE, cursor: pageParam ?? undefined } } }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    refetchInterval: (query) => ((query.state.data?.pages.length ?? 0) <= LIVE_PAGES ? REFRESH_MS : false),
  });
}

export function useDelivery(delivery: string) {
  const { id, api } = useChannelScope();
  return useQuery({
    queryKey: [...keys.deliveries(id), "one", delivery],
    queryFn: () => ask(api.GET("/api/v1/deliveries/{delivery_id}", { params: { path: { delivery_id: delivery } } })),
    refetchInterval: (query) => (query.state.data?.status === "pending" ? PROGRESS_MS : false),
  });
}

/** Makes deliveries due now. */
export function useRetry() {
  const { id, api } = useChannelScope();
  const client = useQueryClient();
  return useMutation({
    mutationFn: (ids: string[]) => ask(api.POST("/api/v1/deliveries/retry", { body: { ids } })),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.deliveries(id) }),
  });
}
