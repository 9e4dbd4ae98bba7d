import { useQuery, useQueryClient } from "@tanstack/react-query";
import { ask, askPage, type Schemas } from "../../shared/api/client";
import { useChannelScope } from "../../shared/channels";
import { channelKey, useChannelMutation, usePages } from "../../shared/lists";
import { readOperations } from "./operations";

export type ApiKey = Schemas["ApiKey"];
export type NewApiKey = Schemas["NewApiKey"];
export type KeyRequest = Schemas["KeyRequest"];
export type RefusedRequest = Schemas["RefusedRequest"];

const KEYS = "keys";
const NEW_KEY = "new-key";
const REFUSED = "refused";
const PAGE = 50;

export function useKeys() {
  const { id, api } = useChannelScope();
  return useQuery({
    queryKey: channelKey(id, KEYS),
    queryFn: async () =>
      (await askPage(api.GET("/api/v1/account/channels/{channel_id}/keys", { params: { path: { channel_id: id } } })))
        .items,
  });
}

/** The text of the key that was created last on this page. It is in memory only, for the code examples. */
export function useNewKey(): string | null {
  const { id } = useChannelScope();
  const { data } = useQuery({
    queryKey: channelKey(id, NEW_KEY),
    queryFn: () => null as string | null,
    initialData: null as string | null,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
    enabled: false,
  });
  return data;
}

function useRememberKey() {
  const { id } = useChannelScope();
  const client = useQueryClient();
  return (made: NewApiKey) => {
    client.setQueryData<string | null>(channelKey(id, NEW_KEY), made.key);
    return made;
  };
}

export function useCreateKey() {
  const { id } = useChannelScope();
  const remember = useRememberKey();
  return useChannelMutation([KEYS], async (api, body: KeyRequest) =>
    remember(
      await ask(api.POST("/api/v1/account/channels/{channel_id}/keys", { params: { path: { channel_id: id } }, body })),
    ),
  );
}

export function useRotateKey(key: string) {
  const { id } = useChannelScope();
  const remember = useRememberKey();
  return useChannelMutation([KEYS], async (api, overlap: number) =>
    remember(
      await ask(
        api.POST("/api/v1/account/channels/{channel_id}/keys/{key_id}/rotate", {
          params: { path: { channel_id: id, key_id: key } },
          body: { overlap },
        }),
      ),
    ),
  );
}

export function useRevokeKey(key: string) {
  const { id } = useChannelScope();
  return useChannelMutation([KEYS], (api, _: undefined) =>
    ask(
      api.DELETE("/api/v1/account/channels/{channel_id}/keys/{key_id}", {
        params: { path: { channel_id: id, key_id: key } },
      }),
    ),
  );
}

/** The requests of the last day that got an error, the newest first. */
export function useRefused(key: string | undefined) {
  const { id, api } = useChannelScope();
  const load = (cursor: string | undefined) =>
    askPage(
      api.GET("/api/v1/account/channels/{channel_id}/keys/refused", {
        params: { path: { channel_id: id }, query: { key, limit: PAGE, cursor } },
      }),
    );
  return usePages([...channelKey(id, REFUSED), { key }], load);
}

/** The phone number of a contact, for the code examples. */
export function useExamplePhone(): string | null {
  const { id, api } = useChannelScope();
  const { data } = useQuery({
    queryKey: [...channelKey(id, "contacts"), "example"],
    queryFn: async () => {
      const { items } = await askPage(api.GET("/api/v1/contacts", { params: { query: { limit: 10 } } }));
      return items.find((contact) => contact.phone)?.phone ?? null;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  return data ?? null;
}

/** The operations of the API, as its OpenAPI document names them. */
export function useOperations() {
  return useQuery({
    queryKey: ["openapi"],
    queryFn: async () => readOperations(await ask(loadDocument())),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

async function loadDocument() {
  const response = await fetch("/openapi.json");
  return { data: response.ok ? { data: (await response.json()) as unknown } : undefined, response };
}
