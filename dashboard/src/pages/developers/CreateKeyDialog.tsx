import { Checkbox, Modal, Select, Stack, TextInput } from "@mantine/core";
import { problemOf, useFields } from "../../shared/fields";
import { Form } from "../../shared/ui/Form";
import { useCreateKey } from "./queries";
import { ShownOnce } from "./ShownOnce";
import { EXPIRIES, inDays, SCOPES } from "./words";

type Props = { opened: boolean; onClose: () => void };

/** Creates a key, and shows it once. */
export function CreateKeyDialog({ opened, onClose }: Props) {
  return (
    <Modal opened={opened} onClose={onClose} title="Create a key" size="lg" closeOnClickOutside={false}>
      <Create onDone={onClose} />
    </Modal>
  );
}

const NEW = { name: "", scopes: ["send", "read", "manage"], days: "0" as string | null };

function Create({ onDone }: { onDone: () => void }) {
  const create = useCreateKey();
  const { values, text, choice } = useFields(NEW, create.error);
  if (create.data) return <ShownOnce value={create.data.key} onDone={onDone} />;
  const { name, scopes, days } = values;
  const submit = () => create.mutate({ name, scopes, expires_at: inDays(days ?? "0", Date.now()) });
  return (
    <Form
      action="Create"
      busy={create.isPending}
      error={create.error}
      fields={["name", "scopes", "expires_at"]}
      onSubmit={submit}
    >
      <TextInput
        label="Name"
        description="For example of the program that uses it."
        placeholder="Online shop"
        {...text("name")}
        required
        data-autofocus
      />
      <Checkbox.Group label="Scopes" description="What the key may do." {...choice("scopes")}>
        <Stack gap="xs" mt="xs">
          {SCOPES.map(({ value, label, text }) => (
            <Checkbox key={value} value={value} label={label} description={text} />
          ))}
        </Stack>
      </Checkbox.Group>
      <Select
        label="Expires"
        data={EXPIRIES}
        {...choice("days", "expires_at")}
        error={problemOf(create.error, "expires_at")}
        allowDeselect={false}
      />
    </Form>
  );
}
