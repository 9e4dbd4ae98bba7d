import { type InfiniteData, keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { ask, askNothing, askPage, askStream, type Page, type Schemas } from "../../shared/api/client";
import { useChannelScope } from "../../shared/channels";
import { LABELS } from "../../shared/labels";
import { channelKey, rowsOf, useChannelMutation, useChannelPages } from "../../shared/lists";
import { addLine, emptyReport, type ImportReport, readLines } from "./importReport";
import { type ContactSearch, toQuery } from "./search";

export type Contact = Schemas["Contact"];
export type NewContact = Schemas["NewContact"];
export type ContactChange = Schemas["ContactChange"];
export type NewLabel = Schemas["NewLabel"];
export type LabelChange = Schemas["LabelChange"];

const PAGE = 100;
const CONTACTS = "contacts";

/** The contacts, page by page. */
export function useContacts(search: ContactSearch) {
  const query = toQuery(search);
  return useChannelPages(CONTACTS, query, (api, cursor) =>
    askPage(api.GET("/api/v1/contacts", { params: { query: { ...query, limit: PAGE, cursor } } })),
  );
}

export function useContact(contact: string) {
  const { id, api } = useChannelScope();
  const client = useQueryClient();
  return useQuery({
    queryKey: [...channelKey(id, CONTACTS), "one", contact],
    queryFn: () => ask(api.GET("/api/v1/contacts/{contact_id}", { params: { path: { contact_id: contact } } })),
    initialData: () =>
      client
        .getQueriesData<InfiniteData<Page<Contact>>>({ queryKey: [...channelKey(id, CONTACTS), "list"] })
        .flatMap(([, data]) => rowsOf(data))
        .find((one) => one.id === contact),
    initialDataUpdatedAt: 0,
  });
}

/** The first contacts whose name or number begins with these words. */
export function useFoundContacts(words: string) {
  const { id, api } = useChannelScope();
  const { q } = toQuery({ q: words });
  return useQuery({
    queryKey: [...channelKey(id, CONTACTS), "found", q],
    queryFn: async () => (await askPage(api.GET("/api/v1/contacts", { params: { query: { q, limit: 20 } } }))).items,
    placeholderData: keepPreviousData,
  });
}

export function useCreateContact() {
  return useChannelMutation([CONTACTS], (api, body: NewContact) => ask(api.POST("/api/v1/contacts", { body })));
}

export function useChangeContact(contact: string) {
  return useChannelMutation([CONTACTS], (api, body: ContactChange) =>
    ask(api.PATCH("/api/v1/contacts/{contact_id}", { params: { path: { contact_id: contact } }, body })),
  );
}

export function useDeleteContact(contact: string) {
  return useChannelMutation([CONTACTS], (api, _: undefined) =>
    askNothing(api.DELETE("/api/v1/contacts/{contact_id}", { params: { path: { contact_id: contact } } })),
  );
}

/** Merges another contact into this one. */
export function useMergeContact(contact: string) {
  return useChannelMutation([CONTACTS], (api, other: string) =>
    ask(
      api.POST("/api/v1/contacts/{contact_id}/merge", {
        params: { path: { contact_id: contact } },
        body: { with: other },
      }),
    ),
  );
}

/** Puts labels on a contact, and takes others off. */
export function useLabelContact(contact: string) {
  return useChannelMutation([CONTACTS], async (api, { put, take }: { put: string[]; take: string[] }) => {
    const path = (label: string) => ({ params: { path: { contact_id: contact, label_id: label } } });
    for (const label of put) await askNothing(api.PUT("/api/v1/contacts/{contact_id}/labels/{label_id}", path(label)));
    for (const label of take)
      await askNothing(api.DELETE("/api/v1/contacts/{contact_id}/labels/{label_id}", path(label)));
  });
}

type Import = { file: File; signal: AbortSignal; onReport: (report: ImportReport) => void };

/** Imports a table; the report grows while lines are written. */
export function useImport() {
  return useChannelMutation([CONTACTS], async (api, { file, signal, onReport }: Import) => {
    const stream = await askStream(
      api.POST("/api/v1/contacts/import", {
        body: file as never, // the file itself is the body: nothing has to be copied
        bodySerializer: (body) => body as never,
        headers: { "Content-Type": "text/csv" },
        parseAs: "stream",
        signal,
      }),
    );
    const report = emptyReport();
    await readLines(stream, (lines) => {
      for (const line of lines) addLine(report, line);
      onReport({ ...report });
    });
    return report;
  });
}

export function useCreateLabel() {
  return useChannelMutation([LABELS, CONTACTS], (api, body: NewLabel) => ask(api.POST("/api/v1/labels", { body })));
}

export function useChangeLabel(label: string) {
  return useChannelMutation([LABELS, CONTACTS], (api, body: LabelChange) =>
    ask(api.PATCH("/api/v1/labels/{label_id}", { params: { path: { label_id: label } }, body })),
  );
}

export function useDeleteLabel(label: string) {
  return useChannelMutation([LABELS, CONTACTS], (api, _: undefined) =>
    askNothing(api.DELETE("/api/v1/labels/{label_id}", { params: { path: { label_id: label } } })),
  );
}
