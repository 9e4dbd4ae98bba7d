import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { ask, askNothing, askPage, type Schemas } from "../../shared/api/client";
import { useChannelScope } from "../../shared/channels";
import { channelKey, useChannelMutation, useChannelPages } from "../../shared/lists";
import { type TemplateForm, templateOf } from "./parts";
import type { TemplateSearch } from "./search";

export type Template = Schemas["TemplateShown"];
export type NewTemplate = Schemas["NewTemplate"];
export type TemplatePreview = Schemas["Preview"];
export type TemplateChange = Schemas["TemplateChange"];

const PAGE = 50;

const TEMPLATES = "templates";

/** The templates, the newest first, page by page. */
export function useTemplates({ status, name }: TemplateSearch) {
  const query = { status, name };
  return useChannelPages(TEMPLATES, query, (api, cursor) =>
    askPage(api.GET("/api/v1/templates", { params: { query: { ...query, limit: PAGE, cursor } } })),
  );
}

export function useTemplate(template: string) {
  const { id, api } = useChannelScope();
  return useQuery({
    queryKey: [...channelKey(id, TEMPLATES), "one", template],
    queryFn: () => ask(api.GET("/api/v1/templates/{template_id}", { params: { path: { template_id: template } } })),
  });
}

/** What the network's rules say about a template that is being written, and how it will look. */
export function useTemplateCheck(form: TemplateForm) {
  const { id, api } = useChannelScope();
  const template = templateOf(form);
  return useQuery({
    queryKey: [...channelKey(id, TEMPLATES), "check", template],
    queryFn: async () => ({ form, ...(await ask(api.POST("/api/v1/templates/check", { body: template }))) }),
    placeholderData: keepPreviousData,
    gcTime: 60_000,
  });
}

export function useCreateTemplate() {
  return useChannelMutation([TEMPLATES], (api, body: NewTemplate) => ask(api.POST("/api/v1/templates", { body })));
}

export function useChangeTemplate(template: string) {
  return useChannelMutation([TEMPLATES], (api, body: TemplateChange) =>
    ask(api.PATCH("/api/v1/templates/{template_id}", { params: { path: { template_id: template } }, body })),
  );
}

export function useDeleteTemplate(template: string) {
  return useChannelMutation([TEMPLATES], (api, _: undefined) =>
    askNothing(api.DELETE("/api/v1/templates/{template_id}", { params: { path: { template_id: template } } })),
  );
}

/** Reads all templates from the network again. */
export function useSync() {
  return useChannelMutation([TEMPLATES], (api, _: undefined) => ask(api.POST("/api/v1/templates/sync")));
}
