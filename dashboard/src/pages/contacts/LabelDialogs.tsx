import { ColorInput, TextInput } from "@mantine/core";
import { useFields } from "../../shared/fields";
import type { Label } from "../../shared/labels";
import { perform } from "../../shared/mutations";
import { Dialog } from "../../shared/ui/Dialog";
import { Form } from "../../shared/ui/Form";
import { showDone } from "../../shared/ui/notices";
import { useChangeLabel, useCreateLabel } from "./queries";

type DialogProps = { opened: boolean; onClose: () => void };

export function CreateLabelDialog({ opened, onClose }: DialogProps) {
  const create = useCreateLabel();
  const done = () => {
    onClose();
    showDone("The label is added.");
  };
  return (
    <Dialog opened={opened} onClose={onClose} title="Add a label">
      <Fields
        initial={{ name: "", color: "" }}
        action="Add"
        busy={create.isPending}
        error={create.error}
        onSubmit={({ name, color }) => perform(create, { name, color: color || null }, { onSuccess: done })}
      />
    </Dialog>
  );
}

export function EditLabelDialog({ label, opened, onClose }: DialogProps & { label: Label }) {
  const change = useChangeLabel(label.id);
  const done = () => {
    onClose();
    showDone("The label is changed.");
  };
  return (
    <Dialog opened={opened} onClose={onClose} title="Edit the label">
      <Fields
        initial={{ name: label.name, color: label.color ?? "" }}
        action="Save"
        busy={change.isPending}
        error={change.error}
        onSubmit={({ name, color }) => perform(change, { name, color: color || undefined }, { onSuccess: done })}
      />
    </Dialog>
  );
}

type Values = { name: string; color: string };
type Props = { initial: Values; action: string; busy: boolean; error: unknown; onSubmit: (values: Values) => void };

function Fields({ initial, onSubmit, ...form }: Props) {
  const { values, text, choice } = useFields(initial, form.error);
  return (
    <Form {...form} fields={["name", "color"]} onSubmit={() => onSubmit(values)}>
      <TextInput label="Name" {...text("name")} required data-autofocus />
      <ColorInput
        label="Colour"
        description="Empty: one is chosen for you."
        placeholder="#2a9d8f"
        format="hex"
        {...choice("color")}
        withEyeDropper={false}
      />
    </Form>
  );
}
