import { keepPreviousData, useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ask, askPage, type Schemas, tell } from "../../shared/api/client";
import { useChannelScope } from "../../shared/channels";
import type { TemplateSearch } from "./search";

export type Template = Schemas["TemplateShown"];
export type NewTemplate = Schemas["NewTemplate"];
export type TemplateChange = Schemas["TemplateChange"];

const REFRESH_MS = 5_000;
const LIVE_PAGES = 2; // a longer list is not refreshed while it is being read
const PAGE = 50;

const templatesKey = (channel: string) => ["channel", channel, "templates"];

/** The templates, the newest first, page by page. */
export function useTemplates({ status, name }: TemplateSearch) {
  const { id, api } = useChannelScope();
  const query = { status, name };
  return useInfiniteQuery({
    queryKey: [...templatesKey(id), query],
    queryFn: ({ pageParam }) =>
      askPage(
        api.GET("/api/v1/templates", { params: { query: { ...query, limit: PAGE, cursor: pageParam ?? undefined } } }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
    refetchInterval: (query) => ((query.state.data?.pages.length ?? 0) <= LIVE_PAGES ? REFRESH_MS : false),
  });
}

export function useTemplate(template: string) {
  const { id, api } = useChannelScope();
  return useQuery({
    queryKey: [...templatesKey(id), "one", template],
    queryFn: () => ask(api.GET("/api/v1/templates/{template_id}", { params: { path: { template_id: template } } })),
    refetchInterval: REFRESH_MS,
  });
}

function useTemplateMutation<Input, Output>(
  run: (api: ReturnType<typeof useChannelScope>["api"], input: Input) => Promise<Output>,
) {
  const { id, api } = useChannelScope();
  const client = useQueryClient();
  return useMutation({
    mutationFn: (input: Input) => run(api, input),
    onSuccess: () => client.invalidateQueries({ queryKey: templatesKey(id) }),
  });
}

export function useCreateTemplate() {
  return useTemplateMutation((api, body: NewTemplate) => ask(api.POST("/api/v1/templates", { body })));
}

export function useChangeTemplate(template: string) {
  return useTemplateMutation((api, body: TemplateChange) =>
    ask(api.PATCH("/api/v1/templates/{template_id}", { params: { path: { template_id: template } }, body })),
  );
}

export function useDeleteTemplate(template: string) {
  return useTemplateMutation((api, _: undefined) =>
    tell(api.DELETE("/api/v1/templates/{template_id}", { params: { path: { template_id: template } } })),
  );
}

/** Reads all templates from the network again. */
export function useSync() {
  return useTemplateMutation((api, _: undefined) => ask(api.POST("/api/v1/templates/sync")));
}
