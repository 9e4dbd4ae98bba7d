import { perform } from "../../shared/mutations";
import { ConfirmDialog } from "../../shared/ui/ConfirmDialog";
import { inOneLine } from "./content";
import { type Message, useDeleteMessage } from "./queries";

type Props = { message: Message | null; onClose: () => void };

/** Deletes a message that was sent, also on the phone of the person. */
export function DeleteDialog({ message, onClose }: Props) {
  const remove = useDeleteMessage();
  return (
    <ConfirmDialog
      title="Delete the message for everyone"
      action="Delete"
      opened={message !== null}
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => message && perform(remove, message.key.id, { onSuccess: onClose })}
      onClose={onClose}
    >
      “{message ? inOneLine(message).slice(0, LONGEST) : "…"}” is deleted here and on the phone of the person. This
      cannot be undone.
    </ConfirmDialog>
  );
}

const LONGEST = 200; // characters that are shown
