import { Anchor, Group, Text, Timeline } from "@mantine/core";
import { IconAlertTriangle, IconCheck, IconClock, IconPoint, IconWebhook } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { inMilliseconds } from "../times";
import { Time } from "../ui/Time";
import type { Trace } from "./queries";
import { type TraceItem, timeline } from "./timeline";

const COLORS: Record<TraceItem["look"], string> = { good: "teal", bad: "red", wait: "yellow", plain: "gray" };

/** What happened to one message, from its acceptance to each attempt to deliver its events to a webhook. */
export function TraceTimeline({ trace }: { trace: Trace }) {
  const items = timeline(trace);
  return (
    <>
      <Timeline bulletSize={26} lineWidth={2} active={items.length} aria-label="Time line">
        {items.map((item) => (
          <Timeline.Item
            key={item.key}
            color={COLORS[item.look]}
            lineVariant={item.expected ? "dashed" : "solid"}
            bullet={<Bullet item={item} />}
            title={
              <Text size="sm" fw={600}>
                {item.title}
              </Text>
            }
          >
            <Details item={item} />
          </Timeline.Item>
        ))}
      </Timeline>
      {!items.some(({ webhook }) => webhook) && (
        <Text size="sm" c="dimmed">
          No webhook was called about it.
        </Text>
      )}
    </>
  );
}

function Details({ item: { at, text, took, delivery, expected } }: { item: TraceItem }) {
  return (
    <>
      {text && (
        <Text size="sm" style={{ overflowWrap: "anywhere" }}>
          {text}
        </Text>
      )}
      <Group gap="xs">
        <Text size="xs" c="dimmed">
          {at === null ? (
            "The time is not known yet"
          ) : expected ? (
            <>
              Expected <Time value={at} />
            </>
          ) : (
            inMilliseconds(at)
          )}
          {took && `, ${took}`}
        </Text>
        {delivery && (
          <Anchor
            renderRoot={(props) => <Link to="/webhooks/log" search={{ delivery }} {...props} />}
            size="xs"
            underline="always"
          >
            Show the delivery
          </Anchor>
        )}
      </Group>
    </>
  );
}

function Bullet({ item }: { item: TraceItem }) {
  if (item.webhook) return <IconWebhook size={14} aria-hidden />;
  if (item.look === "bad") return <IconAlertTriangle size={14} aria-hidden />;
  if (item.look === "wait") return <IconClock size={14} aria-hidden />;
  return item.look === "good" ? <IconCheck size={14} aria-hidden /> : <IconPoint size={14} aria-hidden />;
}
