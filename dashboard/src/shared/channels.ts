import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { type Api, api, askPage, channelApi, type Schemas } from "./api/client";

export type Channel = Schemas["ChannelOverview"];

export const CHANNELS = ["account", "channels"];

const LAST = "gatepost.channel";

/** All channels of the account, with their state. */
export function useChannels() {
  return useQuery({
    queryKey: CHANNELS,
    queryFn: async () => (await askPage(api.GET("/api/v1/account/channels"))).items,
  });
}

/** Picks the channel that the address names, else the one that was used last, else the first. */
export function pickChannel(channels: Channel[], named: string | undefined, last: string | null): Channel | undefined {
  const byId = (id: string | null | undefined) => channels.find((channel) => channel.id === id);
  return byId(named) ?? (named ? undefined : (byId(last) ?? channels[0]));
}

/** The channel that the page is about; undefined while it is not known, or if the address names a wrong one. */
export function useChannel(): Channel | undefined {
  const { channel: named } = useSearch({ strict: false });
  const { data } = useChannels();
  return data && pickChannel(data, named, localStorage.getItem(LAST));
}

export function rememberChannel(id: string): void {
  localStorage.setItem(LAST, id);
}

export type ChannelScope = { id: string; api: Api };

/** The channel of the page with its API. Pages of a channel are drawn only when there is one. */
export function useChannelScope(): ChannelScope {
  const channel = useChannel();
  if (!channel) throw new Error("This part of the page needs a channel.");
  return { id: channel.id, api: channelApi(channel.id) };
}
