import { ActionIcon, Button, Fieldset, Group, Menu, Stack, Text, TextInput } from "@mantine/core";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import { BUTTON_TYPES, type ButtonForm, type ButtonType, variablesOf } from "./parts";

type Props = {
  buttons: ButtonForm[];
  problems: Record<string, string>;
  onChange: (buttons: ButtonForm[]) => void;
};

const VALUES: Record<ButtonType, { label: string; field: string } | null> = {
  QUICK_REPLY: null,
  URL: { label: "Address", field: "url" },
  PHONE_NUMBER: { label: "Number", field: "phone_number" },
  COPY_CODE: { label: "Example code", field: "example" },
};

/** The buttons of a template. */
export function ButtonFields({ buttons, problems, onChange }: Props) {
  const add = (type: ButtonType) => {
    const key = Math.max(-1, ...buttons.map((one) => one.key)) + 1;
    onChange([...buttons, { key, type, text: "", value: "", example: "" }]);
  };
  return (
    <Fieldset legend="Buttons" variant="unstyled">
      <Stack gap="sm" mt={6}>
        {buttons.map((button, i) => (
          <Row
            key={button.key}
            button={button}
            number={i + 1}
            problem={(field) => problems[`buttons[${i}].${field}`]}
            onChange={(part) => onChange(buttons.map((one) => (one.key === button.key ? { ...one, ...part } : one)))}
            onRemove={() => onChange(buttons.filter((one) => one.key !== button.key))}
          />
        ))}
        {problems.buttons && (
          <Text size="sm" c="var(--mantine-color-error)" role="alert">
            {problems.buttons}
          </Text>
        )}
        <Menu shadow="md" position="bottom-start">
          <Menu.Target>
            <Button
              variant="subtle"
              size="compact-sm"
              leftSection={<IconPlus size={14} aria-hidden />}
              style={{ alignSelf: "flex-start" }}
            >
              Add a button
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {BUTTON_TYPES.map(({ value, label }) => (
              <Menu.Item key={value} onClick={() => add(value)}>
                {label}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      </Stack>
    </Fieldset>
  );
}

type RowProps = {
  button: ButtonForm;
  number: number;
  problem: (field: string) => string | undefined;
  onChange: (part: Partial<ButtonForm>) => void;
  onRemove: () => void;
};

function Row({ button, number, problem, onChange, onRemove }: RowProps) {
  const value = VALUES[button.type];
  const kind = BUTTON_TYPES.find((one) => one.value === button.type)?.label;
  return (
    <Stack gap="xs" className="surface" p="sm" role="group" aria-label={`Button ${number}`}>
      <Group justify="space-between">
        <Text size="sm" fw={600}>
          {kind}
        </Text>
        <ActionIcon variant="subtle" color="gray" aria-label={`Remove button ${number}`} onClick={onRemove}>
          <IconTrash size={16} aria-hidden />
        </ActionIcon>
      </Group>
      {button.type !== "COPY_CODE" && (
        <TextInput
          label="Text on the button"
          value={button.text}
          onChange={(event) => onChange({ text: event.currentTarget.value })}
          error={problem("text")}
        />
      )}
      {value && (
        <TextInput
          label={value.label}
          value={button.value}
          onChange={(event) => onChange({ value: event.currentTarget.value })}
          error={problem(value.field)}
        />
      )}
      {button.type === "URL" && variablesOf(button.value).length > 0 && (
        <TextInput
          label="Example of the whole address"
          value={button.example}
          onChange={(event) => onChange({ example: event.currentTarget.value })}
          error={problem("example")}
        />
      )}
    </Stack>
  );
}
