import { ActionIcon, Button, Group, Stack, Textarea } from "@mantine/core";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import { type ReactNode, useState } from "react";
import { inWords } from "../../shared/api/problem";
import { Problem } from "../../shared/ui/Problem";
import type { SendRequest } from "./queries";
import { useSendOnce } from "./useSendOnce";

type Props<Choice> = {
  name: string; // of a choice, such as "button"
  choices: Choice[];
  empty: Choice;
  most: number;
  longest: number; // characters of the text
  ready: boolean;
  problem?: string | null;
  inputs: (choice: Choice, change: (choice: Choice) => void, number: number) => ReactNode;
  toRequest: (text: string) => SendRequest;
  onChange: (choices: Choice[]) => void;
  onSent: () => void;
  children?: ReactNode;
};

/** A text with choices that are added and removed: what messages with buttons and with a list have in common. */
export function ChoicesForm<Choice>(props: Props<Choice>) {
  const { name, choices, empty, most, longest, ready, problem, inputs, toRequest, onChange, onSent, children } = props;
  const [text, setText] = useState("");
  const { submit, busy, error } = useSendOnce(onSent);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        submit(toRequest(text.trim()));
      }}
    >
      <Stack>
        <Textarea
          label="Text"
          autosize
          minRows={2}
          maxRows={8}
          maxLength={longest}
          required
          data-autofocus
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        {children}
        {choices.map((choice, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: choices have no other name
          <Group key={index} gap="xs" align="flex-end" wrap="nowrap">
            {inputs(choice, (changed) => onChange(choices.with(index, changed)), index + 1)}
            {choices.length > 1 && (
              <ActionIcon
                variant="subtle"
                color="gray"
                size={36}
                aria-label={`Remove ${name} ${index + 1}`}
                onClick={() => onChange(choices.toSpliced(index, 1))}
              >
                <IconTrash size={17} aria-hidden />
              </ActionIcon>
            )}
          </Group>
        ))}
        {choices.length < most && (
          <Button
            variant="subtle"
            size="sm"
            leftSection={<IconPlus size={15} aria-hidden />}
            onClick={() => onChange([...choices, empty])}
          >
            Add a {name}
          </Button>
        )}
        <Problem>{problem ?? (error ? inWords(error) : null)}</Problem>
        <Group justify="flex-end">
          <Button type="submit" loading={busy} disabled={!text.trim() || !ready}>
            Send
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
