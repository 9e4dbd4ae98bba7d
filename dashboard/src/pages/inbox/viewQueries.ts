import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, ask, type Schemas } from "../../shared/api/client";
import { showAnswer } from "../../shared/lists";
import type { InboxSearch } from "./search";

export type SavedView = Schemas["SavedView"];

const VIEWS = ["account", "views"];
export const MOST_VIEWS = 50;
export const LONGEST_NAME = 64;

export function useSavedViews() {
  return useQuery({ queryKey: VIEWS, queryFn: () => ask(api.GET("/api/v1/session/views")), staleTime: 30_000 });
}

/** Changes the list of views as it is now in the gateway, where another tab may have changed it. */
export function useChangeViews() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async (change: (before: SavedView[]) => SavedView[]) => {
      const views = change(await ask(api.GET("/api/v1/session/views")));
      return ask(api.PUT("/api/v1/session/views", { body: { views } }));
    },
    onSuccess: (views) => showAnswer(client, VIEWS, views),
  });
}

/** The filters that are chosen now, under a name. */
export function toView(name: string, search: InboxSearch): SavedView {
  const { view = "open", label = null, assignee = null, q = null } = search;
  return { name: name.trim(), view, label, assignee, q, channel: search.all ? null : (search.channel ?? null) };
}

/** What to show for a view. Everything else that was chosen is left. */
export function fromView({ view, label, assignee, q, channel }: SavedView): InboxSearch {
  const search: InboxSearch = {};
  if (view && view !== "open") search.view = view;
  if (label) search.label = label;
  if (assignee) search.assignee = assignee;
  if (q) search.q = q;
  return channel ? { ...search, channel, all: undefined } : { ...search, all: true };
}

/** The views with one more. One of the same name is replaced. */
export function withView(before: SavedView[], added: SavedView): SavedView[] {
  return [...withoutView(before, added.name), added];
}

export function withoutView(before: SavedView[], name: string): SavedView[] {
  return before.filter((one) => one.name.toLowerCase() !== name.toLowerCase());
}
