import { ActionIcon, Button, Fieldset, Group, Stack, Switch, Text, TextInput } from "@mantine/core";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import { problemOf, useFields } from "../../shared/fields";
import { Form } from "../../shared/ui/Form";
import { addField, type ContactForm, type CustomField, fieldProblem } from "./form";

type Props = {
  initial: ContactForm;
  withPhone: boolean;
  action: string;
  busy: boolean;
  error: unknown;
  onSubmit: (form: ContactForm, before: ContactForm) => void;
};

/** The form of a contact, new or not. */
export function ContactFields({ initial, withPhone, action, busy, error, onSubmit }: Props) {
  const { values, before, change, text, checked } = useFields(initial, error);
  const [problem, setProblem] = useState<string | null>(null);
  const submit = () => {
    const wrong = fieldProblem(values.fields);
    setProblem(wrong);
    if (!wrong) onSubmit(values, before);
  };
  return (
    <Form action={action} busy={busy} error={error} fields={["phone", "name", "custom"]} onSubmit={submit}>
      {withPhone && (
        <TextInput
          label="Phone number"
          description="With the country code, for example +55 11 99999 8888."
          type="tel"
          {...text("phone")}
          required
          data-autofocus
        />
      )}
      <TextInput label="Name" {...text("name")} />
      <Switch
        label="Opted out of marketing"
        description="Messages with the priority “bulk” are not sent to this person."
        {...checked("optedOut")}
      />
      <CustomFields
        fields={values.fields}
        problem={problem ?? problemOf(error, "custom")}
        onChange={(fields) => change({ fields })}
      />
    </Form>
  );
}

type CustomProps = {
  fields: CustomField[];
  problem: string | undefined;
  onChange: (fields: CustomField[]) => void;
};

function CustomFields({ fields, problem, onChange }: CustomProps) {
  const set = (key: number, part: Partial<CustomField>) =>
    onChange(fields.map((one) => (one.key === key ? { ...one, ...part } : one)));
  return (
    <Fieldset legend="Your own fields" variant="unstyled">
      <Stack gap="xs" mt={6}>
        {fields.map(({ key, name, value }, i) => (
          <Group key={key} gap="xs" wrap="nowrap">
            <TextInput
              aria-label={`Name of field ${i + 1}`}
              placeholder="city"
              value={name}
              onChange={(event) => set(key, { name: event.currentTarget.value })}
              flex={2}
            />
            <TextInput
              aria-label={`Value of ${name || `field ${i + 1}`}`}
              placeholder="Lisbon"
              value={value}
              onChange={(event) => set(key, { value: event.currentTarget.value })}
              flex={3}
            />
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={`Remove ${name || `field ${i + 1}`}`}
              onClick={() => onChange(fields.filter((one) => one.key !== key))}
            >
              <IconTrash size={16} aria-hidden />
            </ActionIcon>
          </Group>
        ))}
        {problem && (
          <Text size="sm" c="var(--mantine-color-error)" role="alert">
            {problem}
          </Text>
        )}
        <Group>
          <Button
            variant="subtle"
            size="compact-sm"
            leftSection={<IconPlus size={14} aria-hidden />}
            onClick={() => onChange(addField(fields))}
          >
            Add a field
          </Button>
        </Group>
      </Stack>
    </Fieldset>
  );
}
