import { Button, ColorInput, Group, Modal, Stack, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { ApiProblem, inWords } from "../../shared/api/problem";
import type { Label } from "../../shared/labels";
import { showDone } from "../../shared/ui/notices";
import { Problem } from "../../shared/ui/Problem";
import { useChangeLabel, useCreateLabel } from "./queries";

type DialogProps = { opened: boolean; onClose: () => void };

export function CreateLabelDialog({ opened, onClose }: DialogProps) {
  const create = useCreateLabel();
  const done = () => {
    onClose();
    showDone("The label is added.");
  };
  return (
    <Modal opened={opened} onClose={onClose} title="Add a label">
      <Fields
        initial={{ name: "", color: "" }}
        action="Add"
        busy={create.isPending}
        error={create.error}
        onSubmit={({ name, color }) => create.mutate({ name, color: color || null }, { onSuccess: done })}
      />
    </Modal>
  );
}

export function EditLabelDialog({ label, opened, onClose }: DialogProps & { label: Label }) {
  const change = useChangeLabel(label.id);
  const done = () => {
    onClose();
    showDone("The label is changed.");
  };
  return (
    <Modal opened={opened} onClose={onClose} title="Edit the label">
      <Fields
        initial={{ name: label.name, color: label.color ?? "" }}
        action="Save"
        busy={change.isPending}
        error={change.error}
        onSubmit={({ name, color }) => change.mutate({ name, color: color || undefined }, { onSuccess: done })}
      />
    </Modal>
  );
}

type Form = { name: string; color: string };
type Props = { initial: Form; action: string; busy: boolean; error: unknown; onSubmit: (form: Form) => void };

function Fields({ initial, action, busy, error, onSubmit }: Props) {
  const [form, setForm] = useState(initial);
  const field = (name: string) => (error instanceof ApiProblem ? error.field(name) : undefined);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit(form);
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label="Name"
          value={form.name}
          onChange={(event) => setForm({ ...form, name: event.currentTarget.value })}
          error={field("name")}
          required
          data-autofocus
        />
        <ColorInput
          label="Colour"
          description="Empty: one is chosen for you."
          placeholder="#2a9d8f"
          format="hex"
          value={form.color}
          onChange={(color) => setForm((before) => ({ ...before, color }))}
          error={field("color")}
          withEyeDropper={false}
        />
        <Problem>{error && !field("name") && !field("color") ? inWords(error) : null}</Problem>
        <Group justify="flex-end">
          <Button type="submit" loading={busy}>
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
