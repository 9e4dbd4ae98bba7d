import { Alert, Anchor } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { type Channel, useChannels } from "../shared/channels";
import { connectionLook } from "../shared/connection";

/** Names the channels that cannot work until somebody does something, on every page. */
export function ChannelNotice() {
  const { data: channels } = useChannels();
  const broken = (channels ?? []).filter(isBroken);
  if (broken.length === 0) return null;
  return (
    <Alert mb="lg" color="red" icon={<IconAlertTriangle size={18} aria-hidden />} aria-label="Channels with problems">
      {broken.map((channel) => (
        <div key={channel.id}>
          {channel.name}: {connectionLook(channel).label}.{" "}
          <Anchor
            renderRoot={(props) => <Link {...props} to="/channels/$channelId" params={{ channelId: channel.id }} />}
            c="inherit"
            underline="always"
            inherit
          >
            See what to do
          </Anchor>
        </div>
      ))}
    </Alert>
  );
}

function isBroken(channel: Channel): boolean {
  return connectionLook(channel).color === "red" && channel.connection !== "disconnected";
}
