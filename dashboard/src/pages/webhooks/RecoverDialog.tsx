import { Button, Group, Modal, Progress, Stack, Text, TextInput, Title } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { ApiProblem, inWords } from "../../shared/api/problem";
import { fromLocalInput, inShort, toLocalInput } from "../../shared/times";
import { Problem } from "../../shared/ui/Problem";
import { Time } from "../../shared/ui/Time";
import { type Recovery, useRecover, useRecoveries, type Webhook } from "./queries";

const DAY_MS = 86_400_000;

type Props = { endpoint: Webhook; opened: boolean; onClose: () => void };

/** Delivers everything that an endpoint missed in a range of time, and shows the progress. */
export function RecoverDialog({ endpoint, opened, onClose }: Props) {
  return (
    <Modal opened={opened} onClose={onClose} title="Recover missed events" size="lg">
      <Recover endpoint={endpoint} />
    </Modal>
  );
}

function Recover({ endpoint }: { endpoint: Webhook }) {
  const [since, setSince] = useState(() => toLocalInput(new Date(Date.now() - DAY_MS)));
  const [until, setUntil] = useState("");
  const recover = useRecover(endpoint.id);
  const field = (name: string) => (recover.error instanceof ApiProblem ? recover.error.field(name) : undefined);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const from = fromLocalInput(since);
    if (from) recover.mutate({ since: from, until: fromLocalInput(until) });
  };
  return (
    <Stack gap="lg">
      <form onSubmit={submit}>
        <Stack>
          <Text size="sm" c="dimmed">
            Every event of this time that never arrived is delivered again. Events that arrived are not repeated.
          </Text>
          <Group grow align="flex-start">
            <TextInput
              label="From"
              type="datetime-local"
              value={since}
              onChange={(event) => setSince(event.currentTarget.value)}
              error={field("since")}
              required
            />
            <TextInput
              label="Until"
              description=""
              type="datetime-local"
              value={until}
              onChange={(event) => setUntil(event.currentTarget.value)}
              error={field("until")}
            />
          </Group>
          <Problem>{recover.error && !field("since") && !field("until") ? inWords(recover.error) : null}</Problem>
          <Group justify="flex-end">
            <Button type="submit" loading={recover.isPending}>
              Recover
            </Button>
          </Group>
        </Stack>
      </form>
      <Recoveries endpoint={endpoint.id} />
    </Stack>
  );
}

function Recoveries({ endpoint }: { endpoint: string }) {
  const { data } = useRecoveries(endpoint);
  if (!data?.length) return null;
  return (
    <Stack gap="sm">
      <Title order={3} size="sm">
        Recoveries
      </Title>
      {data.map((one) => (
        <RecoveryLine key={one.id} recovery={one} />
      ))}
    </Stack>
  );
}

function RecoveryLine({ recovery }: { recovery: Recovery }) {
  const percent = Math.round(recovery.progress * 100);
  const events = recovery.recovered === 1 ? "1 event" : `${recovery.recovered.toLocaleString()} events`;
  return (
    <Stack gap={4}>
      <Group justify="space-between" gap="xs">
        <Text size="sm">
          {recovery.status === "done" ? `Done: ${events}` : `Running: ${events} so far`}, since{" "}
          {inShort(recovery.since)}
        </Text>
        <Text size="sm" c="dimmed">
          <Time value={recovery.created_at} />
        </Text>
      </Group>
      <Progress.Root size="sm">
        <Progress.Section value={percent} aria-label="Progress of the recovery" />
      </Progress.Root>
    </Stack>
  );
}
