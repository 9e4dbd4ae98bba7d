import { Button, Group, Skeleton, Stack, Text, Title } from "@mantine/core";
import { IconArrowLeft } from "@tabler/icons-react";
import { Loaded } from "../../shared/ui/Loaded";
import { OpenConversation } from "../../shared/ui/OpenConversation";
import { DraftCard } from "./DraftCard";
import classes from "./Drafts.module.css";
import { type Draft, useDraft } from "./draftQueries";
import { recipientName } from "./draftWords";

/** One draft in the place of a conversation: it is decided, or its person has no conversation yet. */
export function DraftPane({ id, onClose }: { id: string; onClose: () => void }) {
  return (
    <section className={classes.pane} aria-label="Draft">
      <Button
        hiddenFrom="sm"
        variant="subtle"
        color="gray"
        mb="sm"
        leftSection={<IconArrowLeft size={18} aria-hidden />}
        onClick={onClose}
      >
        Back to the list
      </Button>
      <Loaded query={useDraft(id)} loading={<Skeleton height={200} aria-label="Loading the draft" />}>
        {(draft) => <One draft={draft} />}
      </Loaded>
    </section>
  );
}

function One({ draft }: { draft: Draft }) {
  const number = draft.contact?.phone ?? draft.phone;
  return (
    <Stack maw={720}>
      <Group justify="space-between">
        <div>
          <Title order={2} size="h4" className={classes.text}>
            {recipientName(draft)}
          </Title>
          {draft.contact?.name && number && (
            <Text size="sm" c="dimmed">
              +{number}
            </Text>
          )}
          {!draft.conversation && (
            <Text size="sm" c="dimmed">
              There is no conversation with this person yet.
            </Text>
          )}
        </div>
        {draft.conversation && <OpenConversation id={draft.conversation} />}
      </Group>
      <DraftCard draft={draft} />
    </Stack>
  );
}
