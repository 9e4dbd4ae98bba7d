import { IconMessages } from "@tabler/icons-react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";
import { useChannel, useChannels } from "../../shared/channels";
import { ChannelPage } from "../../shared/ui/ChannelPage";
import { EmptyState } from "../../shared/ui/EmptyState";
import { ConversationList } from "./ConversationList";
import { DraftList } from "./DraftList";
import { DraftPane } from "./DraftPane";
import type { Draft } from "./draftQueries";
import classes from "./Inbox.module.css";
import { useInboxUpdates } from "./live";
import { Shortcuts } from "./Shortcuts";
import { type InboxSearch, isOfAll } from "./search";
import type { Place } from "./steps";
import { ThreadView } from "./ThreadView";
import { TraceDrawer } from "./TraceDrawer";

export function InboxPage() {
  const channel = useChannel();
  return channel ? <Inbox channel={channel.id} /> : <ChannelPage>{null}</ChannelPage>;
}

/** The list of one channel or of all. The channel of the address is that of the open conversation. */
function Inbox({ channel }: { channel: string }) {
  const search = useSearch({ from: "/signed-in/inbox" });
  const navigate = useNavigate({ from: "/inbox" });
  const { data: all } = useChannels();
  const ofAll = isOfAll(search);
  const channels = useMemo(() => (ofAll && all ? all : []).map(({ id }) => id), [ofAll, all]);
  const listed = useStable(channels.length ? channels : [channel]);
  useInboxUpdates();
  const [order, setOrder] = useState<Place[]>([]);
  const change = useCallback(
    (part: Partial<InboxSearch>, replace = true) =>
      void navigate({ search: (before) => ({ ...before, ...part }), replace }),
    [navigate],
  );
  const open = useCallback(
    (conversation: string, of: string) =>
      void navigate({
        search: (before) => ({
          ...before,
          all: isOfAll(before) || undefined,
          channel: of,
          conversation,
          trace: undefined,
          draft: undefined,
        }),
      }),
    [navigate],
  );
  /** A draft that waits is decided in its conversation. */
  const openDraft = (draft: Draft, of: string) =>
    void navigate({
      search: (before) => ({
        ...before,
        all: isOfAll(before) || undefined,
        channel: of,
        conversation: (draft.state === "waiting" && draft.conversation) || undefined,
        trace: undefined,
        draft: draft.id,
      }),
    });
  const close = () => change({ conversation: undefined, trace: undefined, draft: undefined }, false);
  const list = {
    search,
    channels: listed,
    onChange: change,
    onView: (view: InboxSearch) => void navigate({ search: view }),
    onOrder: setOrder,
  };
  return (
    <div className={classes.inbox} data-open={search.conversation || search.draft ? "" : undefined}>
      <div className={classes.columns}>
        {search.drafts ? (
          <DraftList {...list} state={search.drafts} onOpen={openDraft} />
        ) : (
          <ConversationList {...list} onOpen={open} />
        )}
        {search.conversation ? (
          <ThreadView
            key={search.conversation}
            id={search.conversation}
            onClose={close}
            onTrace={(trace) => change({ trace }, false)}
          />
        ) : search.draft ? (
          <DraftPane key={search.draft} id={search.draft} onClose={close} />
        ) : (
          <div className={classes.nothing}>
            <EmptyState icon={IconMessages} title="No conversation is open">
              Choose one from the list. Press <kbd>?</kbd> for the keyboard shortcuts.
            </EmptyState>
          </div>
        )}
      </div>
      <TraceDrawer message={search.trace} onClose={() => change({ trace: undefined })} />
      <Shortcuts order={order} current={search.conversation} onOpen={open} />
    </div>
  );
}

/** The same list as long as its members are the same. */
function useStable(list: string[]): string[] {
  const key = list.join(" ");
  return useMemo(() => key.split(" "), [key]);
}
