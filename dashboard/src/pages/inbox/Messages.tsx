import { ActionIcon, Button, Center, Loader, Text, VisuallyHidden } from "@mantine/core";
import { IconArrowDown } from "@tabler/icons-react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { Failure } from "../../shared/ui/Failure";
import { showFailure } from "../../shared/ui/notices";
import { inOneLine } from "./content";
import { MessageRow } from "./MessageRow";
import { type Conversation, type Message, useThread } from "./queries";
import { toRows } from "./rows";
import classes from "./Thread.module.css";
import { personName } from "./words";

const NEAR_TOP = 600; // pixels at which older messages are asked for
const NEAR_END = 80;
const SEARCHED_PAGES = 20; // older pages that are loaded to find a quoted message

type Props = { conversation: Conversation; onTrace: (id: string) => void; onReply: (message: Message) => void };

/** The messages of a conversation, the newest at the bottom. Only those that can be seen are drawn. */
export function Messages({ conversation, onTrace, onReply }: Props) {
  const thread = useThread(conversation.id);
  const messages = useMemo(() => thread.data?.pages.flatMap((page) => page.items) ?? [], [thread.data]);
  const rows = useMemo(() => toRows(messages), [messages]);
  const scroller = useRef<HTMLDivElement>(null);
  const [atEnd, setAtEnd] = useState(true);
  const [found, setFound] = useState<string | null>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => (rows[index]?.kind === "day" ? 44 : 62),
    getItemKey: (index) => rows[index]?.key ?? index,
    anchorTo: "end",
    followOnAppend: true,
    scrollEndThreshold: NEAR_END,
    overscan: 8,
    paddingStart: 16,
    paddingEnd: 12,
  });
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = thread;
  const loaded = rows.length > 0;
  const size = virtual.getTotalSize();
  const stays = useRef(true); // at the newest message, also while rows and pictures get their sizes
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new size is what it reacts to
  useLayoutEffect(() => {
    if (stays.current && scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight;
  }, [size]);
  const onScroll = () => {
    const area = scroller.current;
    if (!area) return;
    stays.current = area.scrollHeight - area.scrollTop - area.clientHeight < NEAR_END;
    setAtEnd(stays.current);
    if (area.scrollTop < NEAR_TOP && hasNextPage && !isFetchingNextPage && !isFetchNextPageError) void fetchNextPage();
  };
  const jump = async (id: string) => {
    let known = messages;
    for (let page = 0; page < SEARCHED_PAGES && !known.some(({ key }) => key.id === id); page++) {
      const more = await fetchNextPage();
      known = more.data?.pages.flatMap((one) => one.items) ?? [];
      if (!more.hasNextPage) break;
    }
    const index = toRows(known).findIndex(({ key }) => key === id);
    if (index === -1) showFailure(new Error("The quoted message is not in this conversation any more."));
    else setFound(id);
  };
  useEffect(() => {
    const index = found ? rows.findIndex(({ key }) => key === found) : -1;
    if (index === -1) return;
    stays.current = false;
    virtual.scrollToIndex(index, { align: "center" });
    const timer = setTimeout(() => setFound(null), 2_000);
    return () => clearTimeout(timer);
  }, [found, rows, virtual]);
  if (thread.isError && !thread.data) {
    return (
      <div className={classes.scroll}>
        <Failure error={thread.error} onRetry={() => void thread.refetch()} />
      </div>
    );
  }
  const byId = new Map(messages.map((message) => [message.key.id, message]));
  return (
    <div className={classes.middle}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls is reachable by keyboard */}
      <section ref={scroller} className={classes.scroll} onScroll={onScroll} tabIndex={0} aria-label="Messages">
        {(thread.isPending || isFetchingNextPage) && (
          <Center className={classes.older}>
            <Loader size="sm" type="dots" aria-label="Loading messages" />
          </Center>
        )}
        {isFetchNextPageError && (
          <Center className={classes.older}>
            <Button size="xs" variant="default" onClick={() => void fetchNextPage()}>
              Loading older messages failed. Try again
            </Button>
          </Center>
        )}
        {thread.data && !loaded && (
          <Center h="100%">
            <Text c="dimmed">There is no message yet.</Text>
          </Center>
        )}
        {/* biome-ignore-start lint/a11y/useSemanticElements: rows are placed by hand, which a list does not allow */}
        <div role="list" className={classes.rows} style={{ height: size }}>
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index];
            if (!row) return null;
            return (
              <div
                key={item.key}
                ref={virtual.measureElement}
                data-index={item.index}
                role="listitem"
                className={classes.place}
                style={{ transform: `translateY(${item.start}px)` }}
              >
                {row.kind === "day" ? (
                  <div className={classes.day}>
                    <span>{row.text}</span>
                  </div>
                ) : (
                  <MessageRow
                    message={row.message}
                    first={row.first}
                    quoted={row.message.reply_to ? byId.get(row.message.reply_to) : undefined}
                    found={row.key === found}
                    person={personName(conversation)}
                    onJump={jump}
                    onTrace={onTrace}
                    onReply={onReply}
                  />
                )}
              </div>
            );
          })}
        </div>
        {/* biome-ignore-end lint/a11y/useSemanticElements: as above */}
      </section>
      {!atEnd && (
        <ActionIcon
          className={classes.down}
          variant="default"
          radius="xl"
          size={40}
          aria-label="Go to the newest message"
          onClick={() => virtual.scrollToEnd({ behavior: "smooth" })}
        >
          <IconArrowDown size={20} aria-hidden />
        </ActionIcon>
      )}
      <Announcement message={messages[0]} person={personName(conversation)} />
    </div>
  );
}

/** Tells a screen reader of a message that comes in while the conversation is open. */
function Announcement({ message, person }: { message: Message | undefined; person: string }) {
  const first = useRef<string | null>(null);
  if (first.current === null && message) first.current = message.key.id;
  const isNew = message && message.direction === "in" && message.key.id !== first.current;
  return (
    <VisuallyHidden aria-live="polite">
      {isNew ? `New message from ${person}: ${inOneLine(message)}` : ""}
    </VisuallyHidden>
  );
}
