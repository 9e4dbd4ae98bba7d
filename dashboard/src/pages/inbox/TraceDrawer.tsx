import { Badge, Drawer, Group, Skeleton, Stack, Text, Timeline } from "@mantine/core";
import { IconAlertTriangle, IconCheck, IconClock, IconPoint, IconWebhook } from "@tabler/icons-react";
import { inShort } from "../../shared/times";
import { Failure } from "../../shared/ui/Failure";
import { Time } from "../../shared/ui/Time";
import { inOneLine } from "./content";
import { keyed } from "./keyed";
import { useTrace } from "./queries";
import { type TraceLine, timeline } from "./trace";
import { tickLook } from "./words";

type Props = { message: string | undefined; onClose: () => void };

/** What happened to one message, from its acceptance to each attempt to tell a webhook. */
export function TraceDrawer({ message, onClose }: Props) {
  return (
    <Drawer opened={message !== undefined} onClose={onClose} position="right" size="md" title="Trace of a message">
      {message && <Trace id={message} />}
    </Drawer>
  );
}

function Trace({ id }: { id: string }) {
  const { data, error, refetch } = useTrace(id);
  if (error && !data) return <Failure error={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton height={320} />;
  const lines = timeline(data);
  const look = tickLook(data.message.status);
  return (
    <Stack>
      <Group gap="sm" wrap="nowrap">
        <Badge variant="light" color={look.failed ? "red" : "teal"}>
          {look.label}
        </Badge>
        <Text size="sm" truncate>
          {inOneLine(data.message)}
        </Text>
      </Group>
      <Text size="xs" c="dimmed" ff="monospace" style={{ overflowWrap: "anywhere" }}>
        {id}
      </Text>
      <Timeline bulletSize={26} lineWidth={2} active={lines.length}>
        {keyed(lines).map(({ key, item: line }) => (
          <Timeline.Item
            key={key}
            color={COLORS[line.look]}
            bullet={<Bullet line={line} />}
            title={
              <Text size="sm" fw={600}>
                {line.title}
              </Text>
            }
          >
            {line.text && (
              <Text size="sm" style={{ overflowWrap: "anywhere" }}>
                {line.text}
              </Text>
            )}
            <Text size="xs" c="dimmed">
              {inShort(line.at)}
            </Text>
          </Timeline.Item>
        ))}
        {data.waiting && (
          <Timeline.Item color="yellow" bullet={<IconClock size={14} aria-hidden />} title={<Waits />}>
            <Text size="sm">{data.waiting.because}</Text>
            {data.waiting.until && (
              <Text size="xs" c="dimmed">
                Goes on <Time value={data.waiting.until} />
              </Text>
            )}
          </Timeline.Item>
        )}
      </Timeline>
      {!lines.some(({ webhook }) => webhook) && (
        <Text size="sm" c="dimmed">
          No webhook was told about it.
        </Text>
      )}
    </Stack>
  );
}

const COLORS: Record<TraceLine["look"], string> = { good: "teal", bad: "red", wait: "yellow", plain: "gray" };

function Waits() {
  return (
    <Text size="sm" fw={600}>
      Waits now
    </Text>
  );
}

function Bullet({ line }: { line: TraceLine }) {
  if (line.webhook) return <IconWebhook size={14} aria-hidden />;
  if (line.look === "bad") return <IconAlertTriangle size={14} aria-hidden />;
  if (line.look === "wait") return <IconClock size={14} aria-hidden />;
  return line.look === "good" ? <IconCheck size={14} aria-hidden /> : <IconPoint size={14} aria-hidden />;
}
