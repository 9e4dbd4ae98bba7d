import { Alert, Checkbox, Select, Stack, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { problemOf, useFields } from "../../shared/fields";
import { gatewayNow } from "../../shared/gatewayTime";
import { perform } from "../../shared/mutations";
import { Form } from "../../shared/ui/Form";
import { FormDialog } from "../../shared/ui/FormDialog";
import { useClose } from "../../shared/ui/opening";
import { NewKeyDialog } from "./NewKeyDialog";
import { type NewApiKey, useCreateKey } from "./queries";
import { EXPIRIES, inDays, SCOPES, type Scope } from "./words";

type Props = { opened: boolean; onClose: () => void; scopes?: Scope[] };

/** Creates a key, and shows it once. One for an assistant leads to its rules. */
export function CreateKeyDialog({ opened, onClose, scopes = ["send", "read", "manage"] }: Props) {
  const navigate = useNavigate();
  const [made, setMade] = useState<NewApiKey | null>(null);
  const leave = () => {
    setMade(null);
    if (made?.scopes.includes("mcp")) void navigate({ to: "/developers/mcp/keys/$key", params: { key: made.id } });
  };
  return (
    <>
      <FormDialog opened={opened} onClose={onClose} title="Create a key" size="lg">
        <Create scopes={scopes} onClose={onClose} onCreated={setMade} />
      </FormDialog>
      <NewKeyDialog made={made} onDone={leave} />
    </>
  );
}

type CreateProps = { scopes: Scope[]; onClose: () => void; onCreated: (key: NewApiKey) => void };

function Create({ scopes: chosen, onClose, onCreated }: CreateProps) {
  const create = useCreateKey();
  const close = useClose(onClose);
  const done = (key: NewApiKey) => {
    close();
    onCreated(key);
  };
  const { values, text, choice } = useFields(
    { name: "", scopes: chosen as string[], days: "0" as string | null },
    create.error,
  );
  const { name, scopes, days } = values;
  const submit = () =>
    perform(create, { name, scopes, expires_at: inDays(days ?? "0", gatewayNow()) }, { onSuccess: done });
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
