import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ask, askPage, type Schemas } from "../../shared/api/client";
import { useChannelScope } from "../../shared/channels";
import { type OrderSearch, toQuery } from "./search";
import type { Status } from "./words";

export type Order = Schemas["Order"];
export type OrderItem = Schemas["OrderItem"];

const REFRESH_MS = 5_000;
const LIVE_PAGES = 2; // a longer list is not refreshed while it is being read
const PAGE = 50;

const ordersKey = (channel: string) => ["channel", channel, "orders"];

/** The orders, the newest first, page by page. */
export function useOrders(search: OrderSearch) {
  const { id, api } = useChannelScope();
  const query = toQuery(search, Intl.DateTimeFormat().resolvedOptions().timeZone);
  return useInfiniteQuery({
    queryKey: [...ordersKey(id), query],
    queryFn: ({ pageParam }) =>
      askPage(
        api.GET("/api/v1/orders", { params: { query: { ...query, limit: PAGE, cursor: pageParam ?? undefined } } }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    refetchInterval: (query) => ((query.state.data?.pages.length ?? 0) <= LIVE_PAGES ? REFRESH_MS : false),
  });
}

export function useOrder(order: string) {
  const { id, api } = useChannelScope();
  return useQuery({
    queryKey: [...ordersKey(id), "one", order],
    queryFn: () => ask(api.GET("/api/v1/orders/{order_id}", { params: { path: { order_id: order } } })),
    refetchInterval: REFRESH_MS,
  });
}

export function useChangeOrder(order: string) {
  const { id, api } = useChannelScope();
  const client = useQueryClient();
  return useMutation({
    mutationFn: (status: Status) =>
      ask(api.PATCH("/api/v1/orders/{order_id}", { params: { path: { order_id: order } }, body: { status } })),
    onSuccess: () => client.invalidateQueries({ queryKey: ordersKey(id) }),
  });
}
