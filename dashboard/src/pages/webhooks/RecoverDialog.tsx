import { Group, Progress, SimpleGrid, Stack, Text, TextInput, Title } from "@mantine/core";
import { useState } from "react";
import { useFields } from "../../shared/fields";
import { gatewayNow } from "../../shared/gatewayTime";
import { fromLocalInput, inShort, toLocalInput } from "../../shared/times";
import { Dialog } from "../../shared/ui/Dialog";
import { Form } from "../../shared/ui/Form";
import { Time } from "../../shared/ui/Time";
import { type Recovery, useRecover, useRecoveries, type Webhook } from "./queries";

const DAY_MS = 86_400_000;

type Props = { endpoint: Webhook; opened: boolean; onClose: () => void };

/** Delivers everything that an endpoint missed in a range of time, and shows the progress. */
export function RecoverDialog({ endpoint, opened, onClose }: Props) {
  return (
    <Dialog opened={opened} onClose={onClose} title="Recover missed events" size="lg">
      <Recover endpoint={endpoint} />
    </Dialog>
  );
}

function Recover({ endpoint }: { endpoint: Webhook }) {
  const recover = useRecover(endpoint.id);
  const [initial] = useState(() => ({ since: toLocalInput(new Date(gatewayNow() - DAY_MS)), until: "" }));
  const { values, text } = useFields(initial, recover.error);
  const submit = () => {
    const since = fromLocalInput(values.since);
    if (since) recover.mutate({ since, until: fromLocalInput(values.until) });
  };
  return (
    <Stack gap="lg">
      <Form
        action="Recover"
        busy={recover.isPending}
        error={recover.error}
        fields={["since", "until"]}
        onSubmit={submit}
      >
        <Text size="sm" c="dimmed">
          Every event of this time that never arrived is delivered again. Events that arrived are not repeated.
        </Text>
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <TextInput label="From" type="datetime-local" {...text("since")} required />
          <TextInput label="Until" type="datetime-local" {...text("until")} />
        </SimpleGrid>
      </Form>
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
