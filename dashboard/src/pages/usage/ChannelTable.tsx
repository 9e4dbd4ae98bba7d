import { Box, Group, SimpleGrid, Stack, Text } from "@mantine/core";
import { bytes } from "../../shared/bytes";
import { number } from "../../shared/numbers";
import { Meter } from "../../shared/ui/Meter";
import classes from "./FailureTable.module.css";
import type { ChannelUsage } from "./queries";

/** Each channel with its figures, its tier and its throughput. */
export function ChannelTable({ channels }: { channels: ChannelUsage[] }) {
  return (
    <Stack component="ul" gap={0} className={classes.list}>
      {channels.map((channel) => (
        <li key={channel.id} className={classes.item}>
          <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
            <Stack gap={4} miw={0}>
              <Text size="sm" fw={600} truncate>
                {channel.name}{" "}
                <Text span c="dimmed" inherit fw={400}>
                  +{channel.phone}
                </Text>
              </Text>
              <Group gap="md">
                <Figure label="Sent" value={number(channel.out)} />
                <Figure label="Received" value={number(channel.in)} />
                <Figure label="Failed" value={number(channel.failed)} />
                <Figure label="Files" value={bytes(channel.stored)} />
              </Group>
            </Stack>
            <Stack gap="sm">
              <Meter
                label="New conversations in 24 hours"
                used={channel.tier.used}
                limit={channel.tier.limit}
                show={number}
              >
                {channel.tier.waiting ? `${number(channel.tier.waiting)} messages wait for this limit.` : null}
              </Meter>
              <Meter
                label="Messages per second now"
                used={channel.throughput.used}
                limit={channel.throughput.limit}
                show={number}
              />
            </Stack>
          </SimpleGrid>
        </li>
      ))}
    </Stack>
  );
}

function Figure({ label, value }: { label: string; value: string }) {
  return (
    <Box>
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      <Text size="sm" fw={600}>
        {value}
      </Text>
    </Box>
  );
}
