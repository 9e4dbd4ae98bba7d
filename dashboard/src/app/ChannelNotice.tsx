import { Alert, Anchor } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { isBroken, isLowQuality } from "../shared/attention";
import { useChannels } from "../shared/channels";
import { connectionLook } from "../shared/connection";

/** Names on every page the channels that cannot work until somebody does something, and what else needs a person. */
export function ChannelNotice() {
  const { data: channels = [] } = useChannels();
  const broken = channels.filter(isBroken);
  const rated = channels.filter(isLowQuality);
  const failing = channels.filter(({ attention }) => attention.endpoints > 0);
  return (
    <>
      {broken.length > 0 && (
        <Lines color="red" label="Channels with problems">
          {broken.map((channel) => (
            <div key={channel.id}>
              {channel.name}: {connectionLook(channel).label}. <ChannelLink id={channel.id} />
            </div>
          ))}
        </Lines>
      )}
      {rated.length + failing.length > 0 && (
        <Lines color="orange" label="Needs attention">
          {rated.map((channel) => (
            <div key={channel.id}>
              {channel.name}: The network rates the quality of this number as low. <ChannelLink id={channel.id} />
            </div>
          ))}
          {failing.map(({ id, name, attention: { endpoints } }) => (
            <div key={id}>
              {name}: {endpoints === 1 ? "A webhook endpoint gets" : `${endpoints} webhook endpoints get`} no events,
              because deliveries failed.{" "}
              <Anchor renderRoot={(props) => <Link {...props} to="/webhooks" search={{ channel: id }} />} {...INLINE}>
                See why
              </Anchor>
            </div>
          ))}
        </Lines>
      )}
    </>
  );
}

const INLINE = { c: "inherit", underline: "always", inherit: true } as const;

function ChannelLink({ id }: { id: string }) {
  return (
    <Anchor
      renderRoot={(props) => <Link {...props} to="/channels/$channelId" params={{ channelId: id }} />}
      {...INLINE}
    >
      See what to do
    </Anchor>
  );
}

function Lines({ color, label, children }: { color: string; label: string; children: ReactNode }) {
  return (
    <Alert mb="lg" color={color} icon={<IconAlertTriangle size={18} aria-hidden />} aria-label={label}>
      {children}
    </Alert>
  );
}
