import { ActionIcon, Box, Button, Group, Text, Title, Tooltip } from "@mantine/core";
import { IconArrowLeft, IconCheck, IconInfoCircle, IconRotate } from "@tabler/icons-react";
import { onFirstClick } from "../../shared/clicks";
import { perform } from "../../shared/mutations";
import { useNames } from "../../shared/people";
import { useMayWork } from "../../shared/session/queries";
import { showDone, showFailure } from "../../shared/ui/notices";
import { PersonAvatar } from "../../shared/ui/PersonAvatar";
import { visibleName } from "../../shared/visibleName";
import { type Conversation, useChangeConversation } from "./queries";
import { CLOSE_BUTTON } from "./Shortcuts";
import classes from "./Thread.module.css";
import { personName } from "./words";

type Props = { conversation: Conversation; details: boolean; onDetails: () => void; onBack: () => void };

export function ThreadHeader({ conversation, details, onDetails, onBack }: Props) {
  const { contact } = conversation;
  const names = useNames();
  return (
    <Group className={classes.header} wrap="nowrap" gap="sm">
      <ActionIcon
        variant="subtle"
        color="gray"
        size="lg"
        hiddenFrom="sm"
        aria-label="Back to the list"
        onClick={onBack}
      >
        <IconArrowLeft size={20} aria-hidden />
      </ActionIcon>
      <Box visibleFrom="xs">
        <PersonAvatar name={contact.name} size={38} />
      </Box>
      <div className={classes.who}>
        <Title order={2} size="h5" className={classes.title}>
          {personName(conversation)}
        </Title>
        <Text size="xs" c="dimmed" truncate>
          {visibleName(contact.name) && contact.phone && `+${contact.phone}`}
          {conversation.assignee &&
            `${visibleName(contact.name) && contact.phone ? " · " : ""}Assigned to ${names(conversation.assignee)}`}
        </Text>
      </div>
      <CloseOrOpen conversation={conversation} />
      <Tooltip label="Labels, assignee and notes">
        <ActionIcon
          variant={details ? "light" : "default"}
          size={36}
          aria-label="Details"
          aria-expanded={details}
          onClick={onDetails}
        >
          <IconInfoCircle size={18} aria-hidden />
        </ActionIcon>
      </Tooltip>
    </Group>
  );
}

function CloseOrOpen({ conversation }: { conversation: Conversation }) {
  const mayWork = useMayWork();
  const change = useChangeConversation(conversation.id);
  const open = conversation.status === "open";
  if (!mayWork) return null;
  const toggle = () =>
    perform(
      change,
      { status: open ? "closed" : "open" },
      {
        onSuccess: () => showDone(open ? "The conversation is closed." : "The conversation is open again."),
        onError: showFailure,
      },
    );
  return (
    <Button
      id={CLOSE_BUTTON}
      variant="default"
      size="sm"
      loading={change.isPending}
      leftSection={open ? <IconCheck size={16} aria-hidden /> : <IconRotate size={16} aria-hidden />}
      onClick={onFirstClick(toggle)}
    >
      {open ? "Close" : "Open again"}
    </Button>
  );
}
