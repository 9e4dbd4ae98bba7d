import { Select, Text } from "@mantine/core";
import { useFields } from "../../shared/fields";
import { perform } from "../../shared/mutations";
import { Form } from "../../shared/ui/Form";
import { FormDialog } from "../../shared/ui/FormDialog";
import { useClose } from "../../shared/ui/opening";
import { type ApiKey, type NewApiKey, useRotateKey } from "./queries";
import { OVERLAPS } from "./words";

type Props = { apiKey: ApiKey; opened: boolean; onClose: () => void; onRotated: (key: NewApiKey) => void };

/** Replaces a key. The old one works for a while too, so that programs can be changed one after the other. */
export function RotateKeyDialog({ apiKey, opened, onClose, onRotated }: Props) {
  return (
    <FormDialog opened={opened} onClose={onClose} title="Rotate the key" size="lg">
      <Rotate apiKey={apiKey} onClose={onClose} onRotated={onRotated} />
    </FormDialog>
  );
}

function Rotate({ apiKey, onClose, onRotated }: Omit<Props, "opened">) {
  const rotate = useRotateKey(apiKey.id);
  const close = useClose(onClose);
  const done = (key: NewApiKey) => {
    close();
    onRotated(key);
  };
  const { values, choice } = useFields({ overlap: "86400" as string | null }, rotate.error);
  return (
    <Form
      action="Create the new key"
      busy={rotate.isPending}
      error={rotate.error}
      fields={["overlap"]}
      onSubmit={() => perform(rotate, Number(values.overlap), { onSuccess: done })}
    >
      <Text size="sm">
        The new key has the name and the scopes of “{apiKey.name}” ({apiKey.hint}…).
      </Text>
      <Select label="The old key" data={OVERLAPS} {...choice("overlap")} allowDeselect={false} data-autofocus />
    </Form>
  );
}
