import { Button, Group, Modal, Stack } from "@mantine/core";
import { type ReactNode, useEffect } from "react";
import { PAGE_TITLE } from "./PageHeader";
import { Unsaved } from "./Unsaved";

type Props = { title: string; opened: boolean; action?: string; onDone: () => void; children: ReactNode };

/** Shows what the gateway never shows again, such as a key. Only its button closes it: Escape is pressed too easily. */
export function ShownOnce({ title, opened, action = "I have copied it", onDone, children }: Props) {
  return (
    <Modal
      opened={opened}
      onClose={onDone}
      title={title}
      size="lg"
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
      returnFocus={false}
    >
      <Stack>
        {children}
        <Unsaved edited={opened}>What is shown here is never shown again.</Unsaved>
        <FocusPage />
        <Group justify="flex-end">
          <Button onClick={onDone}>{action}</Button>
        </Group>
      </Stack>
    </Modal>
  );
}

/** Focuses the page afterwards: the form that had the focus before is gone. */
function FocusPage() {
  useEffect(() => () => void setTimeout(focusPage), []);
  return null;
}

function focusPage(): void {
  if (document.activeElement === document.body) document.getElementById(PAGE_TITLE)?.focus({ preventScroll: true });
}
