import { ActionIcon, Button, Group, Modal, Stack, Textarea, TextInput } from "@mantine/core";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import { inWords } from "../../shared/api/problem";
import { Problem } from "../../shared/ui/Problem";
import { useSendOnce } from "./useSendOnce";

const MOST = 3;

type Props = { opened: boolean; onClose: () => void; phone: string };

/** A message with up to three buttons to answer with. */
export function ButtonsDialog({ opened, onClose, phone }: Props) {
  return (
    <Modal opened={opened} onClose={onClose} title="Message with buttons">
      <Form phone={phone} onSent={onClose} />
    </Modal>
  );
}

function Form({ phone, onSent }: { phone: string; onSent: () => void }) {
  const [text, setText] = useState("");
  const [titles, setTitles] = useState(["", ""]);
  const { submit, busy, error } = useSendOnce(onSent);
  const filled = titles.map((title) => title.trim()).filter(Boolean);
  const twice = new Set(filled).size < filled.length;
  const change = (index: number, title: string) => setTitles(titles.map((one, i) => (i === index ? title : one)));
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const buttons = filled.map((title, index) => ({ id: `button_${index + 1}`, title }));
        submit({ phone, type: "buttons", body: text.trim(), buttons });
      }}
    >
      <Stack>
        <Textarea
          label="Text"
          autosize
          minRows={2}
          maxRows={8}
          maxLength={1024}
          required
          data-autofocus
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        {titles.map((title, index) => (
          <Group
            // biome-ignore lint/suspicious/noArrayIndexKey: buttons have no other name
            key={index}
            gap="xs"
            align="flex-end"
            wrap="nowrap"
          >
            <TextInput
              flex={1}
              label={`Button ${index + 1}`}
              maxLength={20}
              value={title}
              onChange={(event) => change(index, event.currentTarget.value)}
            />
            {titles.length > 1 && (
              <ActionIcon
                variant="subtle"
                color="gray"
                size={36}
                aria-label={`Remove button ${index + 1}`}
                onClick={() => setTitles(titles.filter((_, i) => i !== index))}
              >
                <IconTrash size={17} aria-hidden />
              </ActionIcon>
            )}
          </Group>
        ))}
        {titles.length < MOST && (
          <Button
            variant="subtle"
            size="sm"
            leftSection={<IconPlus size={15} aria-hidden />}
            onClick={() => setTitles([...titles, ""])}
          >
            Add a button
          </Button>
        )}
        <Problem>{twice ? "Two buttons have the same text." : error ? inWords(error) : null}</Problem>
        <Group justify="flex-end">
          <Button type="submit" loading={busy} disabled={!text.trim() || filled.length === 0 || twice}>
            Send
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
