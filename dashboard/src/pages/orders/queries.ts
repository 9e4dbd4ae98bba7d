import { useQuery } from "@tanstack/react-query";
import { ask, askPage, type Schemas } from "../../shared/api/client";
import { useChannelScope } from "../../shared/channels";
import { channelKey, useChannelMutation, useChannelPages } from "../../shared/lists";
import { type OrderSearch, toQuery } from "./search";
import type { Status } from "./words";

export type Order = Schemas["Order"];
export type OrderItem = Schemas["OrderItem"];

const PAGE = 50;

const ORDERS = "orders";

/** The orders, the newest first, page by page. */
export function useOrders(search: OrderSearch) {
  const query = toQuery(search, Intl.DateTimeFormat().resolvedOptions().timeZone);
  return useChannelPages(ORDERS, query, (api, cursor) =>
    askPage(api.GET("/api/v1/orders", { params: { query: { ...query, limit: PAGE, cursor } } })),
  );
}

export function useOrder(order: string) {
  const { id, api } = useChannelScope();
  return useQuery({
    queryKey: [...channelKey(id, ORDERS), "one", order],
    queryFn: () => ask(api.GET("/api/v1/orders/{order_id}", { params: { path: { order_id: order } } })),
  });
}

export function useChangeOrder(order: string) {
  return useChannelMutation([ORDERS], (api, status: Status) =>
    ask(api.PATCH("/api/v1/orders/{order_id}", { params: { path: { order_id: order } }, body: { status } })),
  );
}
