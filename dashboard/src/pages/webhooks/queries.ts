import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ask, askNothing, askPage, type Schemas } from "../../shared/api/client";
import { useChannelScope } from "../../shared/channels";
import { channelKey, showAnswer, useChannelMutation, useChannelPages } from "../../shared/lists";
import { expectOwnChange } from "../../shared/live/ownChanges";
import { type LogSearch, toQuery } from "./search";

export type Webhook = Schemas["Webhook"];
export type NewWebhook = Schemas["NewWebhook"];
export type Delivery = Schemas["Delivery"];
export type WholeDelivery = Schemas["WholeDelivery"];
export type Attempt = Schemas["DeliveryAttempt"];
export type WebhookHour = Schemas["WebhookHour"];
export type Verdict = Schemas["Verdict"];
export type Trial = Schemas["Trial"];
export type Recovery = Schemas["Recovery"];
export type Retried = Schemas["Retried"];
export type CreateEndpoint = Schemas["CreateEndpoint"];
export type ChangeEndpoint = Schemas["ChangeEndpoint"];
export type RecoverRequest = Schemas["RecoverRequest"];

const FIGURES_MS = 60_000; // without attempts, only the hours go on
const PAGE = 50;

const ENDPOINTS = "webhooks";
const DELIVERIES = "deliveries";
const RECOVERIES = "recoveries";

export function useEndpoints() {
  const { id, api } = useChannelScope();
  return useQuery({
    queryKey: channelKey(id, ENDPOINTS),
    queryFn: async () => (await askPage(api.GET("/api/v1/webhooks"))).items,
  });
}

export function useCreateEndpoint() {
  return useChannelMutation([ENDPOINTS], (api, body: CreateEndpoint) => ask(api.POST("/api/v1/webhooks", { body })));
}

/** Changes an endpoint. The list shows the answer of the gateway, and nothing before it. */
export function useChangeEndpoint(endpoint: string) {
  const { id, api } = useChannelScope();
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: ChangeEndpoint) =>
      ask(api.PATCH("/api/v1/webhooks/{endpoint_id}", { params: { path: { endpoint_id: endpoint } }, body })),
    onMutate: () => expectOwnChange(endpoint),
    onSuccess: (changed) =>
      showAnswer<Webhook[]>(client, channelKey(id, ENDPOINTS), (list) =>
        list?.map((one) => (one.id === changed.id ? changed : one)),
      ),
  });
}

export function useDeleteEndpoint(endpoint: string) {
  return useChannelMutation([ENDPOINTS], (api, _: undefined) =>
    askNothing(api.DELETE("/api/v1/webhooks/{endpoint_id}", { params: { path: { endpoint_id: endpoint } } })),
  );
}

/** The attempts of the last 24 hours, by hour. */
export function useFigures(endpoint: string) {
  const { id, api } = useChannelScope();
  return useQuery({
    queryKey: [...channelKey(id, DELIVERIES), "figures", endpoint],
    queryFn: async () =>
      (
        await askPage(
          api.GET("/api/v1/webhooks/{endpoint_id}/figures", { params: { path: { endpoint_id: endpoint } } }),
        )
      ).items,
    refetchInterval: FIGURES_MS,
  });
}

export function useVerify(endpoint: string) {
  return useChannelMutation([], (api, body: Schemas["VerifyDelivery"]) =>
    ask(api.POST("/api/v1/webhooks/{endpoint_id}/verify", { params: { path: { endpoint_id: endpoint } }, body })),
  );
}

export function useRotateSecret(endpoint: string) {
  return useChannelMutation([ENDPOINTS], (api, overlap: number) =>
    ask(
      api.POST("/api/v1/webhooks/{endpoint_id}/rotate-secret", {
        params: { path: { endpoint_id: endpoint } },
        body: { overlap },
      }),
    ),
  );
}

export function useTestEndpoint(endpoint: string) {
  return useChannelMutation([], (api, type: Schemas["TrialRequest"]["type"]) =>
    ask(
      api.POST("/api/v1/webhooks/{endpoint_id}/test", {
        params: { path: { endpoint_id: endpoint } },
        body: { type },
      }),
    ),
  );
}

/** The recoveries of an endpoint, the newest first. */
export function useRecoveries(endpoint: string) {
  const { id, api } = useChannelScope();
  return useQuery({
    queryKey: [...channelKey(id, RECOVERIES), endpoint],
    queryFn: async () =>
      (
        await askPage(
          api.GET("/api/v1/webhooks/{endpoint_id}/recoveries", {
            params: { path: { endpoint_id: endpoint }, query: { limit: 5 } },
          }),
        )
      ).items,
  });
}

export function useRecover(endpoint: string) {
  return useChannelMutation([RECOVERIES, DELIVERIES], (api, body: RecoverRequest) =>
    ask(api.POST("/api/v1/webhooks/{endpoint_id}/recover", { params: { path: { endpoint_id: endpoint } }, body })),
  );
}

/** The log of deliveries, the newest first, page by page. */
export function useDeliveries(search: LogSearch) {
  const query = toQuery(search);
  return useChannelPages(DELIVERIES, query, (api, cursor) =>
    askPage(api.GET("/api/v1/deliveries", { params: { query: { ...query, limit: PAGE, cursor } } })),
  );
}

export function useDelivery(delivery: string) {
  const { id, api } = useChannelScope();
  return useQuery({
    queryKey: [...channelKey(id, DELIVERIES), "one", delivery],
    queryFn: () => ask(api.GET("/api/v1/deliveries/{delivery_id}", { params: { path: { delivery_id: delivery } } })),
  });
}

/** Makes deliveries due now. */
export function useRetry() {
  return useChannelMutation([DELIVERIES, "trace"], (api, ids: string[]) =>
    ask(api.POST("/api/v1/deliveries/retry", { body: { ids } })),
  );
}
