import { Box, Group, Menu, Skeleton, Text, UnstyledButton, VisuallyHidden } from "@mantine/core";
import { IconCheck, IconMessages, IconSelector } from "@tabler/icons-react";
import { useNavigate, useParams, useRouterState, useSearch } from "@tanstack/react-router";
import { type Channel, rememberChannel, useChannel, useChannels } from "../shared/channels";
import { connectionLook } from "../shared/connection";
import classes from "./Shell.module.css";

/** Shows the channel that the page is about, and changes it. */
export function ChannelSwitcher() {
  const { data: channels } = useChannels();
  const chosen = useChannel();
  const { channelId: shown } = useParams({ strict: false }); // on the page of one channel
  const current = channels?.find(({ id }) => id === shown) ?? chosen;
  const navigate = useNavigate();
  const inbox = useRouterState({ select: (state) => state.location.pathname.startsWith("/inbox") });
  const search = useSearch({ strict: false });
  if (!channels) return <Skeleton height={54} radius={10} />;
  if (channels.length === 0) return null;
  const several = inbox && channels.length > 1;
  const ofAll = several && (search.all || !search.channel);
  const choose = (id: string) => {
    rememberChannel(id);
    const search = { channel: id, all: undefined };
    if (shown) void navigate({ to: "/channels/$channelId", params: { channelId: id }, search });
    else void navigate({ to: ".", search });
  };
  return (
    <Menu width={232} position="bottom-start" shadow="md">
      <Menu.Target>
        <UnstyledButton className={classes.switcher}>
          <Group wrap="nowrap" gap="sm">
            <VisuallyHidden>Channel: </VisuallyHidden>
            {ofAll ? (
              <AllChannels count={channels.length} />
            ) : current ? (
              <ChannelLine channel={current} />
            ) : (
              <Text size="sm" fw={600} flex={1}>
                Choose a channel
              </Text>
            )}
            <IconSelector size={16} aria-hidden />
          </Group>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Channels</Menu.Label>
        {several && (
          <Menu.Item
            onClick={() => void navigate({ to: ".", search: { all: true } })}
            rightSection={ofAll && <IconCheck size={16} aria-label="current" />}
          >
            <AllChannels count={channels.length} />
          </Menu.Item>
        )}
        {channels.map((channel) => (
          <Menu.Item
            key={channel.id}
            onClick={() => choose(channel.id)}
            rightSection={!ofAll && channel.id === current?.id && <IconCheck size={16} aria-label="current" />}
          >
            <ChannelLine channel={channel} />
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function AllChannels({ count }: { count: number }) {
  return (
    <Group wrap="nowrap" gap="sm" flex={1} miw={0}>
      <IconMessages size={16} aria-hidden />
      <Box miw={0}>
        <Text size="sm" fw={600} truncate>
          All channels
        </Text>
        <Text size="xs" c="dimmed" truncate>
          {count} numbers
        </Text>
      </Box>
    </Group>
  );
}

function ChannelLine({ channel }: { channel: Channel }) {
  const look = connectionLook(channel);
  return (
    <Group wrap="nowrap" gap="sm" flex={1} miw={0}>
      <Box
        w={9}
        h={9}
        style={{ borderRadius: "50%", flexShrink: 0 }}
        bg={`${look.color}.6`}
        role="img"
        aria-label={look.label}
      />
      <Box miw={0}>
        <Text size="sm" fw={600} truncate>
          {channel.name}
        </Text>
        <Text size="xs" c="dimmed" truncate>
          +{channel.phone}
        </Text>
      </Box>
    </Group>
  );
}
