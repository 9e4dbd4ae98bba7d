import { Button, Group, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { inWords } from "../api/problem";
import { Dialog } from "./Dialog";
import { Problem } from "./Problem";

type Props = {
  title: string;
  children: ReactNode;
  action: string;
  opened: boolean;
  busy: boolean;
  error: unknown;
  onConfirm: () => void;
  onClose: () => void;
};

/** Asks before something that cannot be undone. */
export function ConfirmDialog({ title, children, action, opened, busy, error, onConfirm, onClose }: Props) {
  return (
    <Dialog opened={opened} onClose={onClose} title={title}>
      <Stack>
        <Text>{children}</Text>
        <Problem>{error ? inWords(error) : null}</Problem>
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button color="red" loading={busy} onClick={onConfirm}>
            {action}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
