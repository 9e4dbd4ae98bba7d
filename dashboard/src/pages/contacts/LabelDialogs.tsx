import { ColorInput, TextInput } from "@mantine/core";
import { useFields } from "../../shared/fields";
import type { Label } from "../../shared/labels";
import { perform } from "../../shared/mutations";
import { Dialog } from "../../shared/ui/Dialog";
import { Form } from "../../shared/ui/Form";
import { showDone } from "../../shared/ui/notices";
import { useClose } from "../../shared/ui/opening";
import { useChangeLabel, useCreateLabel } from "./queries";

type DialogProps = { opened: boolean; onClose: () => void };

export function CreateLabelDialog({ opened, onClose }: DialogProps) {
  return (
    <Dialog opened={opened} onClose={onClose} title="Add a label">
      <Create onDone={onClose} />
    </Dialog>
  );
}

function Create({ onDone }: { onDone: () => void }) {
  const create = useCreateLabel();
  const close = useClose(onDone);
  const done = () => {
    close();
    showDone("The label is added.");
  };
  return (
    <Fields
      initial={{ name: "", color: "" }}
      action="Add"
      busy={create.isPending}
      error={create.error}
      onSubmit={({ name, color }) => perform(create, { name, color: color || null }, { onSuccess: done })}
    />
  );
}

export function EditLabelDialog({ label, opened, onClose }: DialogProps & { label: Label }) {
  return (
    <Dialog opened={opened} onClose={onClose} title="Edit the label">
      <Edit label={label} onDone={onClose} />
    </Dialog>
  );
}

function Edit({ label, onDone }: { label: Label; onDone: () => void }) {
  const change = useChangeLabel(label.id);
  const close = useClose(onDone);
  const done = () => {
    close();
    showDone("The label is changed.");
  };
  return (
    <Fields
      initial={{ name: label.name, color: label.color ?? "" }}
      action="Save"
      busy={change.isPending}
      error={change.error}
      onSubmit={({ name, color }) => perform(change, { name, color: color || undefined }, { onSuccess: done })}
    />
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
