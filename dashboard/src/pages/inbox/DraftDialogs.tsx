import { Stack, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import { perform } from "../../shared/mutations";
import { Form } from "../../shared/ui/Form";
import { FormDialog } from "../../shared/ui/FormDialog";
import { showDone } from "../../shared/ui/notices";
import { useClose } from "../../shared/ui/opening";
import { editableFields, requestOf, withTexts } from "./draftFields";
import { type Draft, useEditDraft, useRefuseDraft } from "./draftQueries";

type Props = { draft: Draft; opened: boolean; onClose: () => void };

const LONGEST_COMMENT = 1000;

/** Changes the texts of a draft, unless somebody else edits it meanwhile. It is sent only after another click. */
export function EditDraftDialog({ draft, opened, onClose }: Props) {
  return (
    <FormDialog opened={opened} onClose={onClose} title="Edit the draft" size="lg">
      <EditForm draft={draft} onDone={onClose} />
    </FormDialog>
  );
}

function EditForm({ draft, onDone }: { draft: Draft; onDone: () => void }) {
  const [{ message, revision }] = useState({ message: requestOf(draft), revision: draft.revision });
  const fields = editableFields(message);
  const [texts, setTexts] = useState(() => fields.map(({ value }) => value));
  const edit = useEditDraft(draft.id);
  const close = useClose(onDone);
  const done = () => {
    close();
    showDone("The draft is saved.");
  };
  return (
    <Form
      action="Save"
      busy={edit.isPending}
      error={edit.error}
      onSubmit={() => perform(edit, { message: withTexts(message, texts), revision }, { onSuccess: done })}
    >
      <Stack gap="sm">
        {fields.map(({ path, label, lines, required }, index) => {
          const common = {
            key: path.join("."),
            label,
            required,
            value: texts[index] ?? "",
            onChange: (event: { currentTarget: { value: string } }) => {
              const { value } = event.currentTarget;
              setTexts((before) => before.map((text, place) => (place === index ? value : text)));
            },
          };
          const { key, ...props } = common;
          return lines > 1 ? (
            <Textarea key={key} {...props} autosize minRows={lines} maxRows={14} data-autofocus={index === 0} />
          ) : (
            <TextInput key={key} {...props} data-autofocus={index === 0} />
          );
        })}
      </Stack>
    </Form>
  );
}

/** Refuses a draft. The assistant can read the comment. */
export function RefuseDraftDialog({ draft, opened, onClose }: Props) {
  return (
    <FormDialog opened={opened} onClose={onClose} title="Refuse the draft">
      <RefuseForm draft={draft} onDone={onClose} />
    </FormDialog>
  );
}

function RefuseForm({ draft, onDone }: { draft: Draft; onDone: () => void }) {
  const [comment, setComment] = useState("");
  const refuse = useRefuseDraft(draft.id);
  const close = useClose(onDone);
  const done = () => {
    close();
    showDone("The draft is refused.");
  };
  return (
    <Form
      action="Refuse"
      color="red"
      busy={refuse.isPending}
      error={refuse.error}
      onSubmit={() => perform(refuse, comment.trim() || null, { onSuccess: done })}
    >
      <Textarea
        label="Comment"
        description="For example what to change. The assistant can read it."
        autosize
        minRows={2}
        maxRows={8}
        maxLength={LONGEST_COMMENT}
        data-autofocus
        value={comment}
        onChange={(event) => setComment(event.currentTarget.value)}
      />
    </Form>
  );
}
