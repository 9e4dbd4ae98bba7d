import { Button, CloseButton, Group, Stack, Text, Textarea, Title } from "@mantine/core";
import { useState } from "react";
import { useMayWork, useSession } from "../../shared/session/queries";
import { inFull } from "../../shared/times";
import { showFailure } from "../../shared/ui/notices";
import classes from "./Details.module.css";
import { LabelPicker } from "./LabelPicker";
import { type Conversation, useChangeConversation } from "./queries";
import { assigneeWords, personName } from "./words";

type Props = { conversation: Conversation; onClose: () => void };

/** What is known about a conversation: person, labels, assignee and note. The person never sees any of it. */
export function Details({ conversation, onClose }: Props) {
  const mayWork = useMayWork();
  const { contact } = conversation;
  return (
    <aside className={classes.details} aria-label="Details">
      <Group justify="space-between">
        <Title order={3} size="h5">
          Details
        </Title>
        <CloseButton aria-label="Close the details" onClick={onClose} />
      </Group>
      <Stack gap={2}>
        <Text fw={600} className={classes.name}>
          {personName(conversation)}
        </Text>
        {contact.phone && (
          <Text size="sm" c="dimmed">
            +{contact.phone}
          </Text>
        )}
        <Text size="xs" c="dimmed">
          First contact on {inFull(conversation.created_at)}
        </Text>
      </Stack>
      <LabelPicker conversation={conversation} editable={mayWork} />
      <Assignee conversation={conversation} editable={mayWork} />
      <Note key={`n ${conversation.note}`} conversation={conversation} editable={mayWork} />
      {!mayWork && (
        <Text size="xs" c="dimmed">
          Your role allows you to read these, but not to change them.
        </Text>
      )}
    </aside>
  );
}

type FieldProps = { conversation: Conversation; editable: boolean };

function Assignee({ conversation, editable }: FieldProps) {
  const { user } = useSession();
  const change = useChangeConversation(conversation.id);
  const save = (assignee: string | null) => change.mutate({ assignee }, { onError: showFailure });
  return (
    <Stack gap={6} align="flex-start">
      <Text size="sm" fw={500}>
        Assigned to
      </Text>
      <Text size="sm" className={classes.name}>
        {conversation.assignee ? assigneeWords(conversation.assignee, user.id) : "Nobody"}
      </Text>
      {editable && (
        <Group gap="xs">
          {conversation.assignee !== user.id && (
            <Button size="compact-sm" variant="default" loading={change.isPending} onClick={() => save(user.id)}>
              Assign to me
            </Button>
          )}
          {conversation.assignee && (
            <Button size="compact-sm" variant="default" loading={change.isPending} onClick={() => save(null)}>
              Assign to nobody
            </Button>
          )}
        </Group>
      )}
    </Stack>
  );
}

function Note({ conversation, editable }: FieldProps) {
  const change = useChangeConversation(conversation.id);
  const [text, setText] = useState(conversation.note ?? "");
  const changed = text.trim() !== (conversation.note ?? "");
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        change.mutate({ note: text.trim() || null }, { onError: showFailure });
      }}
    >
      <Textarea
        label="Note"
        description="Only your team sees it."
        autosize
        minRows={3}
        maxRows={12}
        maxLength={4096}
        readOnly={!editable}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      {editable && changed && (
        <Button type="submit" size="compact-sm" mt={6} loading={change.isPending}>
          Save the note
        </Button>
      )}
    </form>
  );
}
