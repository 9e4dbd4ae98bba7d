import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconAlertTriangle, IconPencil, IconSend, IconSparkles, IconX } from "@tabler/icons-react";
import { useEffect } from "react";
import { inWords } from "../../shared/api/problem";
import { perform } from "../../shared/mutations";
import { useMayWork, useSession } from "../../shared/session/queries";
import { inFull } from "../../shared/times";
import { TraceLink } from "../../shared/trace/TraceLink";
import { showDone, showFailure } from "../../shared/ui/notices";
import { Problem } from "../../shared/ui/Problem";
import { StatusBadge } from "../../shared/ui/StatusBadge";
import { Time } from "../../shared/ui/Time";
import { useNow } from "../../shared/useNow";
import { readBody } from "./content";
import { EditDraftDialog, RefuseDraftDialog } from "./DraftDialogs";
import classes from "./Drafts.module.css";
import { asMessage, editableFields, requestOf } from "./draftFields";
import { type Draft, useApproveDraft } from "./draftQueries";
import * as words from "./draftWords";
import { MessageBody } from "./MessageBody";

type Props = {
  draft: Draft;
  onLost?: () => void; // somebody else has decided
  onHold?: (held: boolean) => void; // whether a dialog of it is open
  onClose?: () => void; // for a draft that is decided
};

/** A message that a person has to approve: who made it and why, how it will look, and what can be done. */
export function DraftCard({ draft, onLost, onHold, onClose }: Props) {
  const now = useNow();
  const state = words.stateNow(draft, now);
  const author = words.authorName(draft.created_by);
  return (
    <Stack
      component="article"
      gap="xs"
      className={classes.card}
      data-over={state === "waiting" ? undefined : ""}
      aria-label={`Draft of ${author}`}
    >
      <div className={classes.head}>
        <IconSparkles size={17} aria-hidden />
        <span className={classes.author}>
          Draft of <strong>{author}</strong>
        </span>
        <Text size="xs" c="dimmed" span>
          <Time value={draft.created_at} />
        </Text>
        {state === "waiting" ? (
          <Text size="xs" c="dimmed" span>
            Expires <Time value={draft.expires_at} />
          </Text>
        ) : (
          <StatusBadge look={words.draftLook(state)} size="sm" />
        )}
      </div>
      {draft.reason && (
        <Text size="sm" c="dimmed" className={classes.text}>
          {draft.reason}
        </Text>
      )}
      <DraftPreview draft={draft} />
      {draft.edited_at && (
        <Text size="xs" c="dimmed" className={classes.text}>
          Edited by {words.authorName(draft.edited_by)} <Time value={draft.edited_at} />
        </Text>
      )}
      {state === "waiting" ? (
        <Decision draft={draft} onLost={onLost} onHold={onHold} />
      ) : (
        <Decided draft={draft} now={now} onClose={onClose} />
      )}
    </Stack>
  );
}

/** The message as it will look. */
export function DraftPreview({ draft }: { draft: Pick<Draft, "message"> }) {
  const { reply_to, send_at } = requestOf(draft);
  return (
    <div className={classes.preview}>
      {typeof reply_to === "string" && (
        <Text size="xs" c="dimmed">
          In reply to a message
        </Text>
      )}
      <MessageBody body={readBody(asMessage(draft))} />
      {typeof send_at === "string" && (
        <Text size="xs" c="dimmed">
          For {inFull(send_at)}
        </Text>
      )}
    </div>
  );
}

function Decision({ draft, onLost, onHold }: Omit<Props, "onClose">) {
  const mayWork = useMayWork();
  const maySend = useSession().scopes.includes("send") && mayWork;
  const [editing, edit] = useDisclosure();
  const [refusing, refuse] = useDisclosure();
  // biome-ignore lint/correctness/useExhaustiveDependencies: only the dialogs matter
  useEffect(() => onHold?.(editing || refusing), [editing, refusing]);
  const approve = useApproveDraft(draft.id);
  const { reset } = approve;
  // biome-ignore lint/correctness/useExhaustiveDependencies: what went wrong was about the text before
  useEffect(reset, [draft.revision]);
  const changed = draft.written_since || words.isConversationChanged(approve.error);
  const send = () =>
    perform(
      approve,
      { revision: draft.revision, anyway: changed },
      {
        onSuccess: () => showDone("The draft is sent."),
        onError: (error) => {
          if (!onLost || !words.isDecidedElsewhere(error)) return;
          showFailure(error);
          onLost();
        },
      },
    );
  const failed = approve.error && !words.isConversationChanged(approve.error) ? approve.error : null;
  return (
    <>
      {changed && (
        <Alert color="orange" variant="light" p="xs" icon={<IconAlertTriangle size={18} aria-hidden />}>
          The person has written since. Read the conversation before you send this.
        </Alert>
      )}
      <Problem>{failed ? `${inWords(failed)} ${words.advice(failed)}` : null}</Problem>
      {maySend ? (
        <Group gap="xs">
          <Button
            size="xs"
            color={changed ? "orange.8" : undefined}
            leftSection={<IconSend size={15} aria-hidden />}
            loading={approve.isPending}
            onClick={send}
          >
            {changed ? "Send anyway" : "Send"}
          </Button>
          {editableFields(requestOf(draft)).length > 0 && (
            <Button
              size="xs"
              variant="default"
              leftSection={<IconPencil size={15} aria-hidden />}
              onClick={edit.open}
              disabled={approve.isPending}
            >
              Edit
            </Button>
          )}
          <Button
            size="xs"
            variant="default"
            leftSection={<IconX size={15} aria-hidden />}
            onClick={refuse.open}
            disabled={approve.isPending}
          >
            Refuse
          </Button>
        </Group>
      ) : (
        <Text size="xs" c="dimmed">
          Owners and agents send, edit or refuse drafts.
        </Text>
      )}
      <EditDraftDialog draft={draft} opened={editing} onClose={edit.close} />
      <RefuseDraftDialog draft={draft} opened={refusing} onClose={refuse.close} />
    </>
  );
}

function Decided({ draft, now, onClose }: { draft: Draft; now: number; onClose?: () => void }) {
  return (
    <>
      <Text size="sm" className={classes.text}>
        {words.endWords(draft, now)}
      </Text>
      {draft.comment && (
        <Text size="sm" className={classes.text}>
          Comment: {draft.comment}
        </Text>
      )}
      <Group gap="xs">
        {draft.message_id && <TraceLink message={draft.message_id} label="Trace of the message" />}
        {onClose && (
          <Button size="xs" variant="default" onClick={onClose}>
            Close
          </Button>
        )}
      </Group>
    </>
  );
}
