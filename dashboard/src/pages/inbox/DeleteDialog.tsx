import { useRef } from "react";
import { perform } from "../../shared/mutations";
import { ConfirmDialog } from "../../shared/ui/ConfirmDialog";
import { inOneLine } from "./content";
import { type Message, useDeleteMessage } from "./queries";

type Props = { message: Message | null; onClose: () => void };

/** Deletes a message that was sent, also on the phone of the person. */
export function DeleteDialog({ message, onClose }: Props) {
  const remove = useDeleteMessage();
  const shown = useRef(message);
  shown.current = message;
  const isThis = remove.variables === message?.key.id;
  const confirm = (id: string) => perform(remove, id, { onSuccess: () => shown.current?.key.id === id && onClose() });
  return (
    <ConfirmDialog
      title="Delete the message for everyone"
      action="Delete"
      opened={message !== null}
      busy={isThis && remove.isPending}
      error={isThis ? remove.error : null}
      onConfirm={() => message && confirm(message.key.id)}
      onClose={onClose}
    >
      “{message ? inOneLine(message).slice(0, LONGEST) : "…"}” is deleted here and on the phone of the person. This
      cannot be undone.
    </ConfirmDialog>
  );
}

const LONGEST = 200; // characters that are shown
