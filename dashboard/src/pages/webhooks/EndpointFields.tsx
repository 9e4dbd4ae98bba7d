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
import { useState } from "react";
import { problemOf, useFields } from "../../shared/fields";
import { Form } from "../../shared/ui/Form";
import { bodyOf, type EndpointBody, type EndpointForm, readHeaders } from "./form";
import { EVENT_TYPES } from "./words";

type Props = {
  initial: EndpointForm;
  action: string;
  busy: boolean;
  error: unknown;
  onSubmit: (body: EndpointBody, before: EndpointForm) => void;
};

/** The form of an endpoint, new or not. */
export function EndpointFields({ initial, action, busy, error, onSubmit }: Props) {
  const fields = useFields(initial, error);
  const { values, before, change, text } = fields;
  const [headerProblem, setHeaderProblem] = useState<string | null>(null);
  const submit = () => {
    const read = readHeaders(values.headers);
    setHeaderProblem("problem" in read ? read.problem : null);
    if ("headers" in read) onSubmit(bodyOf(values, read.headers), before);
  };
  return (
    <Form action={action} busy={busy} error={error} fields={["url", "headers", "rate_limit"]} onSubmit={submit}>
      <TextInput
        label="Address"
        description="Where events are posted to."
        placeholder="https://shop.example.com/hooks"
        type="url"
        {...text("url")}
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
              checked={values.events[type] ?? false}
              onChange={(event) => change({ events: { ...values.events, [type]: event.currentTarget.checked } })}
            />
          ))}
        </SimpleGrid>
      </Fieldset>
      <More fields={fields} headerProblem={headerProblem ?? problemOf(error, "headers")} />
    </Form>
  );
}

type MoreProps = { fields: ReturnType<typeof useFields<EndpointForm>>; headerProblem: string | undefined };

function More({ fields: { text, choice, checked }, headerProblem }: MoreProps) {
  const [chosen, { toggle }] = useDisclosure();
  const rate = choice("rateLimit", "rate_limit");
  const opened = chosen || Boolean(headerProblem) || Boolean(rate.error);
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
            {...text("headers")}
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
            {...rate}
            onChange={(value) => rate.onChange(typeof value === "number" ? value : "")}
          />
          <Checkbox
            label="Keep the order within each conversation"
            description="An event waits until the one before it has arrived."
            {...checked("ordered")}
          />
        </Stack>
      </Collapse>
    </Stack>
  );
}
