import { IconMessages } from "@tabler/icons-react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useState } from "react";
import { ChannelPage } from "../../shared/ui/ChannelPage";
import { EmptyState } from "../../shared/ui/EmptyState";
import { ConversationList } from "./ConversationList";
import classes from "./Inbox.module.css";
import { LiveNotice } from "./LiveNotice";
import { useLive } from "./live";
import { Shortcuts } from "./Shortcuts";
import type { InboxSearch } from "./search";
import { ThreadView } from "./ThreadView";
import { TraceDrawer } from "./TraceDrawer";

export function InboxPage() {
  return (
    <ChannelPage>
      <Inbox />
    </ChannelPage>
  );
}

function Inbox() {
  const search = useSearch({ from: "/signed-in/inbox" });
  const navigate = useNavigate({ from: "/inbox" });
  const live = useLive();
  const [order, setOrder] = useState<string[]>([]);
  const change = useCallback(
    (part: Partial<InboxSearch>, replace = true) =>
      void navigate({ search: (before) => ({ ...before, ...part }), replace }),
    [navigate],
  );
  const open = useCallback(
    (conversation: string | undefined) => change({ conversation, trace: undefined }, false),
    [change],
  );
  return (
    <div className={classes.inbox} data-open={search.conversation ? "" : undefined}>
      <LiveNotice live={live} />
      <div className={classes.columns}>
        <ConversationList search={search} onChange={change} onOpen={open} onOrder={setOrder} />
        {search.conversation ? (
          <ThreadView
            key={search.conversation}
            id={search.conversation}
            onClose={() => open(undefined)}
            onTrace={(trace) => change({ trace }, false)}
          />
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
