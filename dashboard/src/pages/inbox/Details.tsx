import { Anchor, Button, CloseButton, Group, Select, Stack, Text, Title } from "@mantine/core";
import { useChannel } from "../../shared/channels";
import { perform } from "../../shared/mutations";
import { useNames, usePeople } from "../../shared/people";
import { useMayWork, useSession } from "../../shared/session/queries";
import { inFull } from "../../shared/times";
import { KeepFocus } from "../../shared/ui/Dialog";
import { showFailure } from "../../shared/ui/notices";
import classes from "./Details.module.css";
import { LabelPicker } from "./LabelPicker";
import { phoneAddress, safeLink } from "./links";
import { Notes } from "./Notes";
import { type Conversation, useChangeConversation } from "./queries";
import { personName } from "./words";

type Props = { conversation: Conversation; onClose: () => void };

/** What is known about a conversation: person, labels, assignee and notes. The person never sees any of it. */
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
        <KeepFocus />
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
        {contact.phone && <PhoneLink phone={contact.phone} />}
        <Text size="xs" c="dimmed">
          First contact on {inFull(conversation.created_at)}
        </Text>
      </Stack>
      <LabelPicker conversation={conversation} editable={mayWork} />
      <Assignee conversation={conversation} editable={mayWork} />
      <Notes conversation={conversation} editable={mayWork} />
      {!mayWork && (
        <Text size="xs" c="dimmed">
          Your role allows you to read these, but not to change them.
        </Text>
      )}
    </aside>
  );
}

/** At a sandbox, the page where one is the person. */
function PhoneLink({ phone }: { phone: string }) {
  const channel = useChannel();
  const href = channel && safeLink(phoneAddress(channel, phone));
  if (!href) return null;
  return (
    <Anchor size="sm" href={href} target="_blank" rel="noopener noreferrer">
      Open the phone of this person
    </Anchor>
  );
}

type FieldProps = { conversation: Conversation; editable: boolean };

const NOBODY = "";

/** Who is responsible: a person of the account. */
function Assignee({ conversation, editable }: FieldProps) {
  const { user } = useSession();
  const { data: people } = usePeople();
  const names = useNames();
  const change = useChangeConversation(conversation.id);
  const { assignee } = conversation;
  const save = (chosen: string | null) => perform(change, { assignee: chosen || null }, { onError: showFailure });
  if (!editable) {
    return (
      <Stack gap={2}>
        <Text size="sm" fw={600}>
          Assigned to
        </Text>
        <Text size="sm" className={classes.name}>
          {assignee ? names(assignee) : "Nobody"}
        </Text>
      </Stack>
    );
  }
  const choices = (people ?? []).map((person) => ({ value: person.id, label: names(person.id) }));
  const other = assignee && !choices.some(({ value }) => value === assignee);
  return (
    <Stack gap={6} align="flex-start">
      <Select
        label="Assigned to"
        w="100%"
        searchable
        allowDeselect={false}
        disabled={change.isPending}
        data={[
          { value: NOBODY, label: "Nobody" },
          ...choices,
          ...(other ? [{ value: assignee, label: names(assignee) }] : []),
        ]}
        value={assignee ?? NOBODY}
        onChange={save}
      />
      {assignee !== user.id && (
        <Button size="compact-sm" variant="default" loading={change.isPending} onClick={() => save(user.id)}>
          Assign to me
        </Button>
      )}
    </Stack>
  );
}
