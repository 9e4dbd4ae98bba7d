import { Modal, Select, Text } from "@mantine/core";
import { useFields } from "../../shared/fields";
import { Form } from "../../shared/ui/Form";
import { type ApiKey, useRotateKey } from "./queries";
import { ShownOnce } from "./ShownOnce";
import { OVERLAPS } from "./words";

type Props = { apiKey: ApiKey; opened: boolean; onClose: () => void };

/** Replaces a key. The old one works for a while too, so that programs can be changed one after the other. */
export function RotateKeyDialog({ apiKey, opened, onClose }: Props) {
  return (
    <Modal opened={opened} onClose={onClose} title="Rotate the key" size="lg" closeOnClickOutside={false}>
      <Rotate apiKey={apiKey} onDone={onClose} />
    </Modal>
  );
}

function Rotate({ apiKey, onDone }: { apiKey: ApiKey; onDone: () => void }) {
  const rotate = useRotateKey(apiKey.id);
  const { values, choice } = useFields({ overlap: "86400" as string | null }, rotate.error);
  if (rotate.data) return <ShownOnce value={rotate.data.key} onDone={onDone} />;
  return (
    <Form
      action="Create the new key"
      busy={rotate.isPending}
      error={rotate.error}
      fields={["overlap"]}
      onSubmit={() => rotate.mutate(Number(values.overlap))}
    >
      <Text size="sm">
        The new key has the name and the scopes of “{apiKey.name}” ({apiKey.hint}…).
      </Text>
      <Select label="The old key" data={OVERLAPS} {...choice("overlap")} allowDeselect={false} data-autofocus />
    </Form>
  );
}
