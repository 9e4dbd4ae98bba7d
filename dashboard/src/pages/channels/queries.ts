import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, ask, askNothing, channelApi, type Schemas } from "../../shared/api/client";
import { CHANNELS, type Channel } from "../../shared/channels";
import { showAnswer } from "../../shared/lists";

export type CredentialTest = Schemas["CredentialTest"];
export type CredentialCheck = Schemas["CredentialCheck"];
export type Credentials = Schemas["Credentials"];
export type NewChannel = Schemas["NewChannel"];
export type ChannelSettings = Schemas["ChannelSettings"];
export type CreatedChannel = Schemas["AccountChannel"];
export type Profile = Schemas["Profile"];
export type ProfileChange = Schemas["ProfileChange"];

const PICTURE_STALE_MS = 60_000;

const keys = {
  one: (id: string) => [...CHANNELS, id],
  code: (id: string, until: string | null) => ["channel", id, "link-code", until],
  health: (id: string) => ["channel", id, "health"],
  profile: (id: string) => ["channel", id, "profile"],
};

/** One channel, with what only owners see. Each new code to scan is an event, after which it is asked again. */
export function useOneChannel(id: string) {
  return useQuery({
    queryKey: keys.one(id),
    queryFn: () => ask(api.GET("/api/v1/account/channels/{channel_id}", { params: { path: { channel_id: id } } })),
  });
}

export function useTestCredentials() {
  return useMutation({
    mutationFn: (body: Credentials) => ask(api.POST("/api/v1/account/channels/test", { body })),
  });
}

/** Creates a QR channel and opens its link, so that its page shows a code. */
export function useCreateLinked() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async (body: { name: string; phone: string }) => {
      const made = await ask(api.POST("/api/v1/account/channels", { body: { kind: "qr", ...body } }));
      await channelApi(made.id).POST("/api/v1/channel/connect"); // if it fails, the page has a button for it
      return made;
    },
    onSuccess: () => client.invalidateQueries({ queryKey: CHANNELS }),
  });
}

export function useCreateChannel() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: NewChannel) => ask(api.POST("/api/v1/account/channels", { body })),
    onSuccess: () => client.invalidateQueries({ queryKey: CHANNELS }),
  });
}

export function useChangeChannel(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: ChannelSettings) =>
      ask(api.PATCH("/api/v1/account/channels/{channel_id}", { params: { path: { channel_id: id } }, body })),
    onSuccess: () => client.invalidateQueries({ queryKey: CHANNELS }),
  });
}

export function useDeleteChannel(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () =>
      askNothing(api.DELETE("/api/v1/account/channels/{channel_id}", { params: { path: { channel_id: id } } })),
    onSuccess: () => {
      client.setQueryData<Channel[]>(CHANNELS, (list) => list?.filter((one) => one.id !== id));
      return client.invalidateQueries({ queryKey: CHANNELS, exact: true });
    },
  });
}

export function useConnect(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => ask(channelApi(id).POST("/api/v1/channel/connect")),
    onSuccess: () => client.invalidateQueries({ queryKey: CHANNELS }),
  });
}

export function useLogOut(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => ask(channelApi(id).POST("/api/v1/channel/logout")),
    onSuccess: () => client.invalidateQueries({ queryKey: CHANNELS }),
  });
}

type CodeAnswer = { data?: { data: Schemas["Code"] }; error?: unknown; response: Response }; // or a picture, if asked for

/** The code to scan. `until` is when the current one expires: another time is another code. */
export function useLinkCode(id: string, until: string | null) {
  return useQuery({
    queryKey: keys.code(id, until),
    queryFn: () => ask(channelApi(id).GET("/api/v1/channel/qr") as Promise<CodeAnswer>),
    enabled: until !== null,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    placeholderData: (before) => before,
  });
}

export function usePairingCode(id: string) {
  return useMutation({
    mutationFn: (phone: string) => ask(channelApi(id).POST("/api/v1/channel/pairing-code", { body: { phone } })),
  });
}

/** Asks the network for the state of an official number. A token that it rejects becomes a state of the channel. */
export function useHealth(id: string) {
  const client = useQueryClient();
  return useQuery({
    queryKey: keys.health(id),
    queryFn: async () => {
      try {
        return await ask(channelApi(id).GET("/api/v1/channel/health"));
      } finally {
        void client.invalidateQueries({ queryKey: CHANNELS });
      }
    },
    staleTime: PICTURE_STALE_MS,
    retry: false,
  });
}

export function useProfile(id: string) {
  return useQuery({
    queryKey: keys.profile(id),
    queryFn: () => ask(channelApi(id).GET("/api/v1/channel/profile")),
    staleTime: PICTURE_STALE_MS,
    retry: false,
  });
}

export function useChangeProfile(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: ProfileChange) => ask(channelApi(id).PATCH("/api/v1/channel/profile", { body })),
    onSuccess: (profile) => showAnswer(client, keys.profile(id), profile),
  });
}
