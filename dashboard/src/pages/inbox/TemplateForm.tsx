import { Button, Group, Stack } from "@mantine/core";
import { useRef, useState } from "react";
import { inWords } from "../../shared/api/problem";
import { randomKey } from "../../shared/randomKey";
import { Problem } from "../../shared/ui/Problem";
import { fileProblem } from "./files";
import { type Template, useUpload } from "./queries";
import { TemplateFields } from "./TemplateFields";
import { TemplatePreview } from "./TemplatePreview";
import { toContent } from "./templateRequest";
import { filesOf, isComplete, NO_INPUT, readTemplate } from "./templates";
import { useSendOnce } from "./useSendOnce";

type Props = { template: Template; contact: string; onSent: () => void };

/** The values of a template, with a preview of what the person will see. */
export function TemplateForm({ template, contact, onSent }: Props) {
  const shape = readTemplate(template);
  const [input, setInput] = useState(() => ({ ...NO_INPUT, cards: shape.cards.map(() => NO_INPUT) }));
  const { upload, uploading, uploadError } = useUploads();
  const { submit, busy, error } = useSendOnce(onSent);
  const files = filesOf(input);
  const onSubmit = async () => {
    const uploaded = await upload(files);
    if (uploaded) submit({ contact, type: "template", template: toContent(template, shape, input, uploaded) });
  };
  const failure = error ?? uploadError;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void onSubmit();
      }}
    >
      <Stack>
        <TemplateFields shape={shape} input={input} onChange={setInput} />
        <TemplatePreview shape={shape} input={input} />
        <Problem>{failure ? inWords(failure) : null}</Problem>
        <Group justify="flex-end">
          <Button
            type="submit"
            loading={busy || uploading}
            disabled={!isComplete(shape, input) || files.some((file) => fileProblem(file))}
          >
            Send
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** Uploads files. Each has a key of its own, so that a second try does not store it twice. */
function useUploads() {
  const { mutateAsync, isPending, error } = useUpload();
  const keys = useRef(new WeakMap<File, string>());
  const keyOf = (file: File) => {
    const key = keys.current.get(file) ?? randomKey();
    keys.current.set(file, key);
    return key;
  };
  const upload = async (files: File[]): Promise<Map<File, string> | null> => {
    const uploaded = new Map<File, string>();
    try {
      for (const file of new Set(files)) uploaded.set(file, (await mutateAsync({ file, key: keyOf(file) })).id);
    } catch {
      return null; // the form shows the error
    }
    return uploaded;
  };
  return { upload, uploading: isPending, uploadError: error };
}
