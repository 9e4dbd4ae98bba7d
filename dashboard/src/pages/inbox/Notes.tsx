import { Button, CloseButton, Group, Skeleton, Stack, Text, Textarea } from "@mantine/core";
import { inWords } from "../../shared/api/problem";
import { rowsOf } from "../../shared/lists";
import { perform } from "../../shared/mutations";
import { randomKey } from "../../shared/randomKey";
import { useMayManage, useSession } from "../../shared/session/queries";
import { Loaded } from "../../shared/ui/Loaded";
import { LoadMore } from "../../shared/ui/LoadMore";
import { showFailure } from "../../shared/ui/notices";
import { Problem } from "../../shared/ui/Problem";
import { Time } from "../../shared/ui/Time";
import classes from "./Details.module.css";
import { type Note, useAddNote, useDeleteNote, useNotes } from "./noteQueries";
import type { Conversation } from "./queries";
import { changeUnsent, readUnsent, useUnsent, useUnsentId } from "./unsent";
import { afterSending, keyFor, type UnsentText } from "./unsentText";

const LONGEST = 4096;

/** Notes of the team about a conversation, with author and time. The person never sees them. */
export function Notes({ conversation, editable }: { conversation: Conversation; editable: boolean }) {
  const notes = useNotes(conversation.id);
  return (
    <Stack gap={8} component="section" aria-label="Notes">
      <Text size="sm" fw={600}>
        Notes
      </Text>
      {editable && <AddNote conversation={conversation.id} />}
      {conversation.note && (
        <div className={classes.note}>
          <Text size="sm" className={classes.words}>
            {conversation.note}
          </Text>
          <Text size="xs" c="dimmed">
            Set by a program
          </Text>
        </div>
      )}
      <Loaded query={notes} loading={<Skeleton height={48} />}>
        {(data) => (
          <>
            {rowsOf(data).map((note) => (
              <OneNote key={note.id} note={note} conversation={conversation.id} />
            ))}
            {rowsOf(data).length === 0 && !conversation.note && (
              <Text size="sm" c="dimmed">
                None yet. Only your team sees them.
              </Text>
            )}
          </>
        )}
      </Loaded>
      <LoadMore query={notes} label="Show older notes" size="compact-sm" />
    </Stack>
  );
}

function AddNote({ conversation }: { conversation: string }) {
  const id = useUnsentId(`note.${conversation}`);
  const { written } = useUnsent(id);
  const { text } = written;
  const add = useAddNote(conversation);
  const keep = (next: UnsentText) => changeUnsent(id, { written: next });
  const save = () => {
    const sent = text.trim();
    const key = keyFor(written, sent, randomKey);
    keep({ text, key, sent });
    perform(
      add,
      { text: sent, key },
      { onSuccess: () => keep({ text: afterSending(readUnsent(id).written.text.trimStart(), sent) }) },
    );
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <Textarea
        aria-label="New note"
        placeholder="Write a note for your team"
        autosize
        minRows={2}
        maxRows={10}
        maxLength={LONGEST}
        value={text}
        onChange={(event) => keep({ ...written, text: event.currentTarget.value })}
      />
      {text.trim() && (
        <Button type="submit" size="compact-sm" mt={6} loading={add.isPending}>
          Add the note
        </Button>
      )}
      <Problem>{add.error ? inWords(add.error) : null}</Problem>
    </form>
  );
}

function OneNote({ note, conversation }: { note: Note; conversation: string }) {
  const { user } = useSession();
  const mayManage = useMayManage();
  const remove = useDeleteNote(conversation);
  const own = note.author.id === user.id;
  return (
    <div className={classes.note}>
      <Group gap={4} justify="space-between" wrap="nowrap" align="flex-start">
        <Text size="sm" className={classes.words}>
          {note.text}
        </Text>
        {(own || mayManage) && (
          <CloseButton
            size="xs"
            aria-label="Delete this note"
            disabled={remove.isPending}
            onClick={() => perform(remove, note.id, { onError: showFailure })}
          />
        )}
      </Group>
      <Text size="xs" c="dimmed">
        {own ? "You" : note.author.label || "The operator"} · <Time value={note.created_at} />
      </Text>
    </div>
  );
}
