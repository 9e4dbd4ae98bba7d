import { Badge, Group, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Channel } from "../../shared/channels";
import { connectionLook } from "../../shared/connection";
import { StatusBadge } from "../../shared/ui/StatusBadge";
import classes from "./ChannelCard.module.css";
import { Headroom } from "./Headroom";
import { kindWords, needsHelp, qualityLook } from "./words";

/** A channel in the list: its state, and what its limits leave. */
export function ChannelCard({ channel }: { channel: Channel }) {
  const quality = qualityLook(channel.quality);
  const up = channel.connection === "connected";
  return (
    <article
      className={`surface ${classes.card}`}
      data-alarm={needsHelp(channel) || undefined}
      aria-label={`Channel ${channel.name}`}
    >
      <Stack gap="md" p={{ base: "md", sm: "lg" }}>
        <Group justify="space-between" align="flex-start" gap="sm">
          <Stack gap={2} miw={0}>
            <Title order={2} size="h4" lineClamp={1}>
              <Link to="/channels/$channelId" params={{ channelId: channel.id }} className={classes.link}>
                {channel.name}
              </Link>
            </Title>
            <Text size="sm" c="dimmed">
              +{channel.phone} · {kindWords(channel.kind)}
            </Text>
          </Stack>
          <Group gap="xs">
            {channel.unread > 0 && <Badge variant="light">{channel.unread} unread</Badge>}
            <StatusBadge look={connectionLook(channel)} />
          </Group>
        </Group>
        {!up && channel.reason && (
          <Text size="sm" c={needsHelp(channel) ? "red" : undefined}>
            {channel.reason}
          </Text>
        )}
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="xl" verticalSpacing="sm">
          <Headroom label="New conversations, 24 h" limit={channel.tier.limit} used={channel.tier.used} />
          <Headroom label="Messages per second" limit={channel.throughput.limit} used={channel.throughput.used} />
        </SimpleGrid>
        <Group gap="xl">
          {quality && (
            <Fact label="Quality">
              <StatusBadge look={quality} size="sm" />
            </Fact>
          )}
          <Fact label="Waiting to be sent">{channel.queued.toLocaleString("en")}</Fact>
        </Group>
        {channel.waiting && channel.waiting.because !== channel.reason && (
          <Text size="sm" c="dimmed">
            Messages wait: {channel.waiting.because}
          </Text>
        )}
      </Stack>
    </article>
  );
}

export function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <Group gap="xs" wrap="nowrap" align="baseline">
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      <Text component="div" size="xs" fw={600}>
        {children}
      </Text>
    </Group>
  );
}
