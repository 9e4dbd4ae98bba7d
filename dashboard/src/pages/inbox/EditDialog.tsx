import { Textarea } from "@mantine/core";
import { useState } from "react";
import { perform } from "../../shared/mutations";
import { Form } from "../../shared/ui/Form";
import { FormDialog } from "../../shared/ui/FormDialog";
import { useClose } from "../../shared/ui/opening";
import { inOneLine } from "./content";
import { type Message, useEditMessage } from "./queries";

const LONGEST = 4096;

type Props = { message: Message | null; onClose: () => void };

/** Changes a text that was sent, also on the phone of the person. */
export function EditDialog({ message, onClose }: Props) {
  return (
    <FormDialog opened={message !== null} onClose={onClose} title="Edit the message">
      {message && <EditForm key={message.key.id} message={message} onDone={onClose} />}
    </FormDialog>
  );
}

function EditForm({ message, onDone }: { message: Message; onDone: () => void }) {
  const [text, setText] = useState(() => inOneLine(message));
  const edit = useEditMessage();
  const close = useClose(onDone);
  const submit = () => {
    if (text.trim()) perform(edit, { id: message.key.id, body: text.trim() }, { onSuccess: close });
  };
  return (
    <Form action="Save" busy={edit.isPending} error={edit.error} onSubmit={submit}>
      <Textarea
        label="Text"
        autosize
        minRows={2}
        maxRows={12}
        maxLength={LONGEST}
        required
        data-autofocus
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
    </Form>
  );
}
