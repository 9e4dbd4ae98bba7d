import {
  Button,
  Checkbox,
  Collapse,
  Fieldset,
  Group,
  NumberInput,
  SimpleGrid,
  Stack,
  Switch,
  Textarea,
  TextInput,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconChevronDown } from "@tabler/icons-react";
import { type FormEvent, useState } from "react";
import { ApiProblem, inWords } from "../../shared/api/problem";
import { Problem } from "../../shared/ui/Problem";
import { bodyOf, type EndpointForm, readHeaders } from "./form";
import { EVENT_TYPES } from "./words";

type Props = {
  initial: EndpointForm;
  action: string;
  busy: boolean;
  error: unknown;
  onSubmit: (body: ReturnType<typeof bodyOf>) => void;
};

/** The form of an endpoint, new or not. */
export function EndpointFields({ initial, action, busy, error, onSubmit }: Props) {
  const [form, setForm] = useState(initial);
  const [headerProblem, setHeaderProblem] = useState<string | null>(null);
  const change = (part: Partial<EndpointForm>) => setForm((before) => ({ ...before, ...part }));
  const field = (name: string) => (error instanceof ApiProblem ? error.field(name) : undefined);
  const known = ["url", "headers", "rate_limit"].some(field);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const read = readHeaders(form.headers);
    setHeaderProblem("problem" in read ? read.problem : null);
    if ("headers" in read) onSubmit(bodyOf(form, read.headers));
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label="Address"
          description="Where events are posted to."
          placeholder="https://shop.example.com/hooks"
          type="url"
          value={form.url}
          onChange={(event) => change({ url: event.currentTarget.value })}
          error={field("url")}
          required
          data-autofocus
        />
        <Fieldset legend="Events" variant="unstyled">
          <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="md" mt={6}>
            {EVENT_TYPES.map(({ type, label, text }) => (
              <Switch
                key={type}
                label={label}
                description={text}
                checked={form.events[type] ?? false}
                onChange={(event) => change({ events: { ...form.events, [type]: event.currentTarget.checked } })}
              />
            ))}
          </SimpleGrid>
        </Fieldset>
        <More
          form={form}
          change={change}
          headerProblem={headerProblem ?? field("headers")}
          rateProblem={field("rate_limit")}
        />
        <Problem>{error && !known ? inWords(error) : null}</Problem>
        <Group justify="flex-end">
          <Button type="submit" loading={busy}>
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

type MoreProps = {
  form: EndpointForm;
  change: (part: Partial<EndpointForm>) => void;
  headerProblem: string | undefined;
  rateProblem: string | undefined;
};

function More({ form, change, headerProblem, rateProblem }: MoreProps) {
  const [opened, { toggle }] = useDisclosure(Boolean(headerProblem));
  return (
    <Stack gap="sm">
      <Group>
        <Button
          variant="subtle"
          color="gray"
          size="compact-sm"
          onClick={toggle}
          aria-expanded={opened}
          rightSection={<IconChevronDown size={14} aria-hidden />}
        >
          More settings
        </Button>
      </Group>
      <Collapse expanded={opened}>
        <Stack>
          <Textarea
            label="Headers"
            description="Sent with every POST, one per line. Their values are kept encrypted."
            placeholder="Authorization: Bearer …"
            value={form.headers}
            onChange={(event) => change({ headers: event.currentTarget.value })}
            error={headerProblem}
            autosize
            minRows={2}
            maxRows={6}
          />
          <NumberInput
            label="At most so many requests per second"
            description="Empty: as fast as your server answers."
            min={1}
            max={1000}
            value={form.rateLimit}
            onChange={(value) => change({ rateLimit: typeof value === "number" ? value : "" })}
            error={rateProblem}
          />
          <Checkbox
            label="Keep the order within each conversation"
            description="An event waits until the one before it has arrived."
            checked={form.ordered}
            onChange={(event) => change({ ordered: event.currentTarget.checked })}
          />
          <Checkbox
            label="Also send events about the health of endpoints"
            description="For example when an endpoint is paused after many failures."
            checked={form.operational}
            onChange={(event) => change({ operational: event.currentTarget.checked })}
          />
        </Stack>
      </Collapse>
    </Stack>
  );
}
