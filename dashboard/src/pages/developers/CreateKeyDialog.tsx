import { Alert, Checkbox, Modal, Select, Stack, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { problemOf, useFields } from "../../shared/fields";
import { gatewayNow } from "../../shared/gatewayTime";
import { Form } from "../../shared/ui/Form";
import { useCreateKey } from "./queries";
import { ShownOnce } from "./ShownOnce";
import { EXPIRIES, inDays, SCOPES, type Scope } from "./words";

type Props = { opened: boolean; onClose: () => void; scopes?: Scope[] };

/** Creates a key, and shows it once. One for an assistant leads to its rules. */
export function CreateKeyDialog({ opened, onClose, scopes = ["send", "read", "manage"] }: Props) {
  return (
    <Modal opened={opened} onClose={onClose} title="Create a key" size="lg" closeOnClickOutside={false}>
      <Create scopes={scopes} onDone={onClose} />
    </Modal>
  );
}

function Create({ scopes: chosen, onDone }: { scopes: Scope[]; onDone: () => void }) {
  const navigate = useNavigate();
  const create = useCreateKey();
  const { values, text, choice } = useFields(
    { name: "", scopes: chosen as string[], days: "0" as string | null },
    create.error,
  );
  if (create.data) {
    const { id, key, scopes } = create.data;
    const leave = () => {
      onDone();
      if (scopes.includes("mcp")) void navigate({ to: "/developers/mcp/keys/$key", params: { key: id } });
    };
    return <ShownOnce value={key} onDone={leave} />;
  }
  const { name, scopes, days } = values;
  const submit = () => create.mutate({ name, scopes, expires_at: inDays(days ?? "0", gatewayNow()) });
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
      {scopes.includes("mcp") && scopes.length > 1 && (
        <Alert color="orange" variant="light" role="status">
          Give an assistant a key with the scope MCP alone. Its rules do not apply to what the other scopes allow by the
          REST API.
        </Alert>
      )}
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
