import { Skeleton, Stack } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useCallback, useEffect, useState } from "react";
import { useChannelScope } from "../../shared/channels";
import { useAnnouncedPresence } from "../../shared/live/presence";
import { useSession } from "../../shared/session/queries";
import { Failure } from "../../shared/ui/Failure";
import { Composer } from "./Composer";
import { DeleteDialog } from "./DeleteDialog";
import { Details } from "./Details";
import { EditDialog } from "./EditDialog";
import { HandOverBanner } from "./HandOverBanner";
import { Messages } from "./Messages";
import { Others } from "./Others";
import { type Conversation, type Message, useConversation, useMarkRead } from "./queries";
import classes from "./Thread.module.css";
import { ThreadDrafts } from "./ThreadDrafts";
import { ThreadHeader } from "./ThreadHeader";
import { replyTo, useUnsentId } from "./unsent";

type Props = { id: string; onClose: () => void; onTrace: (message: string) => void };

/** One conversation: its messages, what is known about it, and the field for an answer. */
export function ThreadView({ id, onClose, onTrace }: Props) {
  const { data: conversation, error, refetch } = useConversation(id);
  const [details, { toggle, close }] = useDisclosure();
  const unsent = useUnsentId(id);
  const reply = useCallback((message: Message) => replyTo(unsent, message), [unsent]);
  const [edited, setEdited] = useState<Message | null>(null);
  const [deleted, setDeleted] = useState<Message | null>(null);
  const onTyping = useAnnouncedPresence(useChannelScope().id, id);
  if (error && !conversation) {
    return (
      <div className={classes.thread}>
        <Failure error={error} onRetry={() => void refetch()} title="This conversation cannot be shown" />
      </div>
    );
  }
  if (!conversation) return <Loading />;
  return (
    <>
      <section className={classes.thread} aria-label="Conversation">
        <ThreadHeader conversation={conversation} details={details} onDetails={toggle} onBack={onClose} />
        <HandOverBanner conversation={id} />
        <Messages
          conversation={conversation}
          onTrace={onTrace}
          onReply={reply}
          onEdit={setEdited}
          onDelete={setDeleted}
        />
        <ThreadDrafts conversation={conversation} />
        <Others conversation={id} />
        <div onInput={onTyping}>
          <Composer conversation={conversation} />
        </div>
        <EditDialog message={edited} onClose={() => setEdited(null)} />
        <DeleteDialog message={deleted} onClose={() => setDeleted(null)} />
        <ReadWhileVisible conversation={conversation} />
      </section>
      {details && <Details conversation={conversation} onClose={close} />}
    </>
  );
}

/** Marks the conversation as read while it is open and the page is visible. */
function ReadWhileVisible({ conversation: { id, unread } }: { conversation: Conversation }) {
  const maySend = useSession().scopes.includes("send");
  const { mutate } = useMarkRead();
  useEffect(() => {
    if (!maySend || unread === 0) return;
    const mark = () => {
      if (document.visibilityState === "visible") mutate(id);
    };
    mark();
    document.addEventListener("visibilitychange", mark);
    return () => document.removeEventListener("visibilitychange", mark);
  }, [id, unread, maySend, mutate]);
  return null;
}

function Loading() {
  return (
    <Stack className={classes.thread} p="lg" role="status" aria-label="Loading the conversation">
      <Skeleton height={36} width={220} />
      <Skeleton height={48} width="45%" mt="xl" radius="lg" />
      <Skeleton height={64} width="50%" radius="lg" style={{ alignSelf: "flex-end" }} />
      <Skeleton height={48} width="30%" radius="lg" />
    </Stack>
  );
}
