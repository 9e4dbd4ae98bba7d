import { Button, Group, Stack } from "@mantine/core";
import type { FormEvent, ReactNode } from "react";
import { inWords } from "../api/problem";
import { isShownAt } from "../fields";
import { Problem } from "./Problem";

type Props = {
  action: string;
  color?: "red"; // for what cannot be undone
  busy: boolean;
  error: unknown;
  fields?: readonly string[]; // those of the API whose inputs say themselves what is wrong
  onSubmit: () => void;
  children: ReactNode;
};

/** A form: its inputs, what is wrong with the whole, and the button that sends it. Its values: `useFields`. */
export function Form({ action, color, busy, error, fields = [], onSubmit, children }: Props) {
  const submit = (event: FormEvent) => {
    event.preventDefault();
    event.stopPropagation(); // a dialog inside of another form
    onSubmit();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        {children}
        <Problem>{error && !isShownAt(error, fields) ? inWords(error) : null}</Problem>
        <Group justify="flex-end">
          <Button type="submit" color={color} loading={busy}>
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
