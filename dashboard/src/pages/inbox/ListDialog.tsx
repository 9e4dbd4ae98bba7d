import { ActionIcon, Button, Group, Modal, Stack, Textarea, TextInput } from "@mantine/core";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import { inWords } from "../../shared/api/problem";
import { Problem } from "../../shared/ui/Problem";
import { useSendOnce } from "./useSendOnce";

const MOST = 10;
const EMPTY = { title: "", description: "" };

type Props = { opened: boolean; onClose: () => void; phone: string };

/** A message with a list to choose from. */
export function ListDialog({ opened, onClose, phone }: Props) {
  return (
    <Modal opened={opened} onClose={onClose} title="Message with a list">
      <Form phone={phone} onSent={onClose} />
    </Modal>
  );
}

function Form({ phone, onSent }: { phone: string; onSent: () => void }) {
  const [text, setText] = useState("");
  const [button, setButton] = useState("Choose");
  const [rows, setRows] = useState([EMPTY, EMPTY]);
  const { submit, busy, error } = useSendOnce(onSent);
  const filled = rows.filter(({ title }) => title.trim());
  const change = (index: number, part: Partial<typeof EMPTY>) =>
    setRows(rows.map((row, i) => (i === index ? { ...row, ...part } : row)));
  const onSubmit = () =>
    submit({
      phone,
      type: "list",
      body: text.trim(),
      button: button.trim(),
      sections: [
        {
          rows: filled.map(({ title, description }, index) => ({
            id: `row_${index + 1}`,
            title: title.trim(),
            description: description.trim() || null,
          })),
        },
      ],
    });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      <Stack>
        <Textarea
          label="Text"
          autosize
          minRows={2}
          maxRows={8}
          maxLength={4096}
          required
          data-autofocus
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <TextInput
          label="Button that opens the list"
          maxLength={20}
          required
          value={button}
          onChange={(event) => setButton(event.currentTarget.value)}
        />
        {rows.map((row, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other name
          <Group key={index} gap="xs" align="flex-end" wrap="nowrap">
            <TextInput
              flex={1}
              label={`Row ${index + 1}`}
              maxLength={24}
              value={row.title}
              onChange={(event) => change(index, { title: event.currentTarget.value })}
            />
            <TextInput
              flex={1}
              label="Description"
              maxLength={72}
              value={row.description}
              onChange={(event) => change(index, { description: event.currentTarget.value })}
            />
            <ActionIcon
              variant="subtle"
              color="gray"
              size={36}
              disabled={rows.length === 1}
              aria-label={`Remove row ${index + 1}`}
              onClick={() => setRows(rows.filter((_, i) => i !== index))}
            >
              <IconTrash size={17} aria-hidden />
            </ActionIcon>
          </Group>
        ))}
        {rows.length < MOST && (
          <Button
            variant="subtle"
            size="sm"
            leftSection={<IconPlus size={15} aria-hidden />}
            onClick={() => setRows([...rows, EMPTY])}
          >
            Add a row
          </Button>
        )}
        <Problem>{error ? inWords(error) : null}</Problem>
        <Group justify="flex-end">
          <Button type="submit" loading={busy} disabled={!text.trim() || !button.trim() || filled.length === 0}>
            Send
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
