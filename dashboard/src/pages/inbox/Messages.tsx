import { ActionIcon, Button, Center, Loader, Text, VisuallyHidden } from "@mantine/core";
import { IconArrowDown } from "@tabler/icons-react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { ApiProblem, inWords } from "../../shared/api/problem";
import { loadNext, rowsOf } from "../../shared/lists";
import { Failure } from "../../shared/ui/Failure";
import { showFailure } from "../../shared/ui/notices";
import { inOneLine } from "./content";
import { MessageRow } from "./MessageRow";
import { type Conversation, type Message, useThread, useThreadAround } from "./queries";
import { toRows } from "./rows";
import classes from "./Thread.module.css";
import { useToday } from "./useNow";
import { personName } from "./words";

const NEAR_TOP = 600; // pixels at which older messages are asked for
const NEAR_END = 80;
const FOUND_MS = 4_000;

type Props = {
  conversation: Conversation;
  onTrace: (id: string) => void;
  onReply: (message: Message) => void;
  onEdit: (message: Message) => void;
  onDelete: (message: Message) => void;
};

/** The messages of a conversation, the newest at the bottom. Only those that can be seen are drawn. */
export function Messages({ conversation, onTrace, onReply, onEdit, onDelete }: Props) {
  const [around, setAround] = useState<string | null>(null); // an older message; null: the newest ones are shown
  const newest = useThread(conversation.id);
  const part = useThreadAround(conversation.id, around);
  const thread = around ? part : newest;
  const messages = useMemo(() => rowsOf<Message>(thread.data), [thread.data]);
  const today = useToday();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the headings change with the day
  const rows = useMemo(() => toRows(messages), [messages, today]);
  const scroller = useRef<HTMLDivElement>(null);
  const [atEnd, setAtEnd] = useState(true);
  const [found, setFound] = useState<string | null>(null); // is highlighted for a moment
  const target = useRef<string | null>(null); // to scroll to, once it is there
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => (rows[index]?.day ? 106 : 62),
    getItemKey: (index) => rows[index]?.key ?? index,
    anchorTo: "end",
    followOnAppend: around === null,
    scrollEndThreshold: NEAR_END,
    overscan: 8,
    paddingStart: 16,
    paddingEnd: 12,
  });
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError } = thread;
  const loaded = rows.length > 0;
  const size = virtual.getTotalSize();
  const stays = useRef(true); // at the newest message, also while rows and pictures get their sizes
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new size is what it reacts to
  useLayoutEffect(() => {
    if (stays.current && scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight;
  }, [size]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the part that scrolls is there when messages are
  useEffect(() => {
    const area = scroller.current;
    if (!area) return;
    const observer = new ResizeObserver(() => {
      if (stays.current) area.scrollTop = area.scrollHeight; // a draft has appeared, or a longer answer is written
    });
    observer.observe(area);
    return () => observer.disconnect();
  }, [loaded]);
  const onScroll = () => {
    const area = scroller.current;
    if (!area) return;
    stays.current = isAtEnd(area) && around === null;
    setAtEnd(stays.current);
    if (area.scrollTop < NEAR_TOP && hasNextPage && !isFetchingNextPage && !isFetchNextPageError) void loadNext(thread);
    showNewer();
  };
  /** At the end of an older part, it goes on with newer messages, up to the newest. */
  const showNewer = () => {
    const ready =
      around && part.data && !part.isFetchingPreviousPage && !part.isFetchPreviousPageError && !target.current;
    if (!ready || !scroller.current || !isAtEnd(scroller.current)) return;
    if (part.hasPreviousPage) void part.fetchPreviousPage();
    else showNewest();
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: new rows are what it reacts to
  useEffect(showNewer, [rows]);
  const showNewest = () => {
    setAround(null);
    stays.current = true;
    setAtEnd(true);
    virtual.scrollToEnd();
  };
  const jump = (id: string) => {
    stays.current = false;
    target.current = id;
    setFound(id);
    if (!messages.some(({ key }) => key.id === id)) setAround(id);
  };
  useEffect(() => {
    if (!around || !part.isLoadingError) return;
    const gone = part.error instanceof ApiProblem && part.error.status === 404;
    const reason = gone ? "it is not stored any more." : inWords(part.error);
    showFailure(new Error(`The quoted message cannot be shown: ${reason}`));
    target.current = null;
    setFound(null);
    setAround(null);
  }, [around, part.isLoadingError, part.error]);
  useEffect(() => {
    const index = found && found === target.current ? rows.findIndex(({ key }) => key === found) : -1;
    if (index === -1) return;
    virtual.scrollToIndex(index, { align: "center" });
    target.current = null;
  }, [found, rows, virtual]);
  useEffect(() => {
    if (!found) return;
    const timer = setTimeout(() => setFound(null), FOUND_MS);
    return () => clearTimeout(timer);
  }, [found]);
  const byId = useMemo(() => new Map(messages.map((message) => [message.key.id, message])), [messages]);
  if (newest.isError && !newest.data) {
    return (
      <div className={classes.scroll}>
        <Failure error={newest.error} onRetry={() => void newest.refetch()} />
      </div>
    );
  }
  return (
    <div className={classes.middle}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls is reachable by keyboard */}
      <section ref={scroller} className={classes.scroll} onScroll={onScroll} tabIndex={0} aria-label="Messages">
        {(thread.isPending || isFetchingNextPage || part.isFetchingPreviousPage) && (
          <Center className={classes.older}>
            <Loader size="sm" type="dots" aria-label="Loading messages" />
          </Center>
        )}
        {isFetchNextPageError && (
          <Center className={classes.older}>
            <Button size="xs" variant="default" onClick={() => void loadNext(thread)}>
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
                {row.day && (
                  <div className={classes.day}>
                    <span>{row.day}</span>
                  </div>
                )}
                <MessageRow
                  message={row.message}
                  first={row.first}
                  quoted={row.message.reply_to ? byId.get(row.message.reply_to) : undefined}
                  found={row.key === found}
                  person={personName(conversation)}
                  onJump={jump}
                  onTrace={onTrace}
                  onReply={onReply}
                  onEdit={onEdit}
                  onDelete={onDelete}
                />
              </div>
            );
          })}
        </div>
        {/* biome-ignore-end lint/a11y/useSemanticElements: as above */}
        {around && part.isFetchPreviousPageError && (
          <Center p="xs">
            <Button size="xs" variant="default" onClick={() => void part.fetchPreviousPage()}>
              Loading newer messages failed. Try again
            </Button>
          </Center>
        )}
      </section>
      {!atEnd && (
        <ActionIcon
          className={classes.down}
          variant="default"
          radius="xl"
          size={40}
          aria-label="Go to the newest message"
          onClick={() => (around ? showNewest() : virtual.scrollToEnd({ behavior: "smooth" }))}
        >
          <IconArrowDown size={20} aria-hidden />
        </ActionIcon>
      )}
      <Announcement message={newest.data?.pages[0]?.items[0]} person={personName(conversation)} />
    </div>
  );
}

function isAtEnd(area: HTMLElement): boolean {
  return area.scrollHeight - area.scrollTop - area.clientHeight < NEAR_END;
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
