import { Accordion, Badge, Button, Group, Skeleton, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconShieldCheck } from "@tabler/icons-react";
import { useMayManage } from "../../shared/session/queries";
import { duration, inFull } from "../../shared/times";
import { TraceLink } from "../../shared/trace/TraceLink";
import { CodeBlock } from "../../shared/ui/CodeBlock";
import { Loaded } from "../../shared/ui/Loaded";
import { SidePanel } from "../../shared/ui/SidePanel";
import { StatusBadge } from "../../shared/ui/StatusBadge";
import { Time } from "../../shared/ui/Time";
import { type Attempt, useDelivery, type WholeDelivery } from "./queries";
import { RetryButton } from "./RetryButton";
import { VerifyDialog } from "./VerifyDialog";
import { eventWords, statusLook } from "./words";

type Props = { delivery: string | undefined; onClose: () => void };

/** One delivery with all its attempts: what was sent, and what was answered. */
export function DeliveryDrawer({ delivery, onClose }: Props) {
  return (
    <SidePanel title="Delivery" id={delivery} size="lg" onClose={onClose}>
      {(id) => <Details id={id} />}
    </SidePanel>
  );
}

function Details({ id }: { id: string }) {
  const delivery = useDelivery(id);
  return (
    <Loaded query={delivery} loading={<Skeleton height={320} aria-label="Loading the delivery" />}>
      {(data) => (
        <Stack gap="lg">
          <Overview delivery={data} />
          <Attempts delivery={data} />
        </Stack>
      )}
    </Loaded>
  );
}

function Overview({ delivery: data }: { delivery: WholeDelivery }) {
  const mayManage = useMayManage();
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Group gap="sm">
          <StatusBadge look={statusLook(data)} size="lg" />
          <Text fw={600}>{eventWords(data.event)}</Text>
        </Group>
        {mayManage && <RetryButton deliveries={[data.id]} variant="default" />}
      </Group>
      <Text size="sm" c="dimmed" style={{ overflowWrap: "anywhere" }}>
        To {data.endpoint.url ?? "a deleted endpoint"}
      </Text>
      <Text size="sm" c="dimmed">
        Happened on {inFull(data.event.timestamp)}.{" "}
        <Text ff="monospace" span inherit>
          {data.event.id}
        </Text>
      </Text>
      {data.event.message && <TraceLink message={data.event.message} />}
      {data.waiting && <Text size="sm">{data.waiting}</Text>}
      {data.next_attempt_at && (
        <Text size="sm">
          Next attempt <Time value={data.next_attempt_at} />.
        </Text>
      )}
    </Stack>
  );
}

function Attempts({ delivery: { attempts, endpoint } }: { delivery: WholeDelivery }) {
  const newest = attempts.toReversed();
  const first = newest[0];
  if (!first) {
    return (
      <Text c="dimmed" size="sm">
        There was no attempt yet.
      </Text>
    );
  }
  return (
    <Accordion key={attempts.length} defaultValue={String(first.number)} variant="separated" order={3}>
      {newest.map((attempt) => (
        <Accordion.Item key={attempt.number} value={String(attempt.number)}>
          <Accordion.Control>
            <AttemptTitle attempt={attempt} />
          </Accordion.Control>
          <Accordion.Panel>
            <AttemptDetails attempt={attempt} endpoint={endpoint} />
          </Accordion.Panel>
        </Accordion.Item>
      ))}
    </Accordion>
  );
}

function AttemptTitle({ attempt }: { attempt: Attempt }) {
  const good = attempt.error === null;
  return (
    <Group gap="sm">
      <Badge color={good ? "teal" : "red"} variant="light">
        {attempt.status ?? "No answer"}
      </Badge>
      <Text size="sm" fw={600}>
        Attempt {attempt.number}
      </Text>
      <Text size="sm" c="dimmed">
        <Time value={attempt.at} /> · {duration(attempt.latency_ms)}
      </Text>
    </Group>
  );
}

type DetailsProps = { attempt: Attempt; endpoint: WholeDelivery["endpoint"] };

function AttemptDetails({ attempt, endpoint }: DetailsProps) {
  const [verifying, dialog] = useDisclosure();
  const headers = Object.entries(attempt.request.headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");
  const signed = headers
    .split("\n")
    .filter((line) => line.toLowerCase().startsWith("webhook-"))
    .join("\n");
  return (
    <Stack>
      {attempt.error && <Text size="sm">{attempt.error}</Text>}
      <CodeBlock label="Answer" text={attempt.answer.body} empty="The answer has no body." />
      <CodeBlock
        label="Answer headers"
        text={attempt.answer.headers.map((pair) => pair.join(": ")).join("\n")}
        empty="None"
      />
      <CodeBlock label="Request" text={attempt.request.body ?? ""} empty="The event is not kept any more." />
      <CodeBlock label="Request headers" text={headers} />
      {attempt.request.body !== null && endpoint.state !== "deleted" && (
        <Group>
          <Button
            variant="default"
            size="xs"
            leftSection={<IconShieldCheck size={14} aria-hidden />}
            onClick={dialog.open}
          >
            Verify the signature
          </Button>
          <VerifyDialog
            endpoint={endpoint.id}
            given={{ headers: signed, body: attempt.request.body }}
            opened={verifying}
            onClose={dialog.close}
          />
        </Group>
      )}
    </Stack>
  );
}
