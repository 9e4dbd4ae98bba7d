import { Badge, Button, Group, Select, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { inWords } from "../../shared/api/problem";
import { duration } from "../../shared/times";
import { CodeBlock } from "../../shared/ui/CodeBlock";
import { Dialog } from "../../shared/ui/Dialog";
import { Problem } from "../../shared/ui/Problem";
import { type Trial, useTestEndpoint, type Webhook } from "./queries";
import { EVENT_TYPES } from "./words";

type EventType = (typeof EVENT_TYPES)[number]["type"];
type Props = { endpoint: Webhook; opened: boolean; onClose: () => void };

/** Sends an example event at once, and shows what the server answered. */
export function TestDialog({ endpoint, opened, onClose }: Props) {
  const [type, setType] = useState<EventType>("message_notification");
  const test = useTestEndpoint(endpoint.id);
  return (
    <Dialog opened={opened} onClose={onClose} title="Send a test event" size="lg">
      <Stack>
        <Text size="sm" c="dimmed" style={{ overflowWrap: "anywhere" }}>
          A signed example goes to {endpoint.url}. It is marked as a test, and is not kept in the log.
        </Text>
        <Group align="flex-end">
          <Select
            label="Event"
            data={EVENT_TYPES.map((one) => ({ value: one.type, label: one.label }))}
            value={type}
            onChange={(value) => value && setType(value as EventType)}
            allowDeselect={false}
            flex={1}
          />
          <Button loading={test.isPending} onClick={() => test.mutate(type)}>
            Send
          </Button>
        </Group>
        <Problem>{test.error ? inWords(test.error) : null}</Problem>
        {test.data && <Result trial={test.data} />}
      </Stack>
    </Dialog>
  );
}

function Result({ trial }: { trial: Trial }) {
  return (
    <Stack role="status">
      <Group gap="sm">
        <Badge color={trial.delivered ? "teal" : "red"} variant="light" size="lg">
          {trial.delivered ? "Delivered" : "Not delivered"}
        </Badge>
        <Text size="sm">
          {trial.status !== null && `Status ${trial.status}, `}
          {duration(trial.latency_ms)}
        </Text>
      </Group>
      {trial.error && <Text size="sm">{trial.error}</Text>}
      <CodeBlock label="Answer" text={trial.answer.body} empty="The answer has no body." />
      <CodeBlock label="Request" text={trial.request.body ?? ""} />
    </Stack>
  );
}
