import { Button, VisuallyHidden } from "@mantine/core";
import { useCallback, useEffect, useState } from "react";
import { Problem } from "../../shared/ui/Problem";
import { DraftCard } from "./DraftCard";
import classes from "./Drafts.module.css";
import { type Draft, useDraft, useWaitingDrafts } from "./draftQueries";
import type { Conversation } from "./queries";

/** The drafts that wait in a conversation, below its messages. */
export function ThreadDrafts({ conversation }: { conversation: Conversation }) {
  const { data: waiting = [], error, refetch } = useWaitingDrafts(conversation.id);
  const [held, setHeld] = useState<Draft | null>(null); // stays while its dialog is open, even if someone else decides
  const [lost, setLost] = useState<string[]>([]); // somebody else has decided while it was shown
  const forget = useCallback((id: string) => setLost((before) => before.filter((one) => one !== id)), []);
  const shown = held && !waiting.some(({ id }) => id === held.id) ? [...waiting, held] : waiting;
  const announced = waiting.length ? `${waiting.length} ${waiting.length === 1 ? "draft waits" : "drafts wait"}` : "";
  return (
    <>
      <VisuallyHidden role="status">{announced}</VisuallyHidden>
      {(shown.length > 0 || lost.length > 0 || error) && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls is reachable by keyboard
        <section className={classes.cards} aria-label="Drafts of this conversation" tabIndex={0}>
          {error && (
            <Problem>
              The drafts of this conversation cannot be shown: {error.message}{" "}
              <Button size="compact-xs" variant="default" onClick={() => void refetch()}>
                Try again
              </Button>
            </Problem>
          )}
          {shown
            .filter(({ id }) => !lost.includes(id))
            .map((draft) => (
              <DraftCard
                key={draft.id}
                draft={draft}
                onHold={(on) => setHeld((before) => (on ? draft : before?.id === draft.id ? null : before))}
                onLost={() => setLost((before) => [...before, draft.id])}
              />
            ))}
          {lost.map((id) => (
            <LostDraft key={id} id={id} onForget={forget} />
          ))}
        </section>
      )}
    </>
  );
}

/** Says how a draft was decided, until the person closes it. */
function LostDraft({ id, onForget }: { id: string; onForget: (id: string) => void }) {
  const { data: draft } = useDraft(id);
  const waits = draft?.state === "waiting"; // it was only edited
  useEffect(() => {
    if (waits) onForget(id);
  }, [waits, id, onForget]);
  return draft && !waits ? <DraftCard draft={draft} onClose={() => onForget(id)} /> : null;
}
