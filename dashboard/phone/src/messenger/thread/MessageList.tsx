import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { now } from "../../shared/clock";
import type { Thread as Messages } from "../../shared/store";
import type { Chat, Message } from "../../shared/types";
import { firstUnreadSeq, threadRows } from "../logic/threadRows";
import { dayLabel } from "../logic/times";
import { counted } from "../logic/words";
import { usePhone } from "../phone";
import { Icon } from "../ui/Icon";
import { Bubble } from "./Bubble";

const NEAR = 80; // px from the end that still count as the end

/** The messages of a chat. New ones are followed while the end is in sight; older ones are read on the way up. */
export function MessageList({ messages, thread, chat }: { messages: Message[]; thread: Messages; chat: Chat | null }) {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useSignal(true);
  const missed = useSignal(0);
  const marker = useRef(firstUnreadSeq(messages, chat?.unread ?? 0));
  useStick(box, messages, atEnd.peek(), (count) => {
    missed.value += count;
  });
  const business = chat?.number.name || chat?.number.phone || "Business";
  const lastId = messages.findLast((message) => !message.deleted)?.id;
  const onScroll = () => {
    const element = box.current;
    if (!element) return;
    atEnd.value = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
    if (atEnd.value) missed.value = 0;
  };
  const toEnd = () => box.current?.scrollTo({ top: box.current.scrollHeight });
  return (
    <div class="message-area">
      <div class="messages" ref={box} onScroll={onScroll}>
        {thread.more.value ? <Older thread={thread} /> : null}
        {messages.length ? null : <p class="thread-empty">No messages yet. Write the first one.</p>}
        <ol aria-label="Messages" onKeyDown={moveBetweenMessages}>
          {threadRows(messages, marker.current).map((row) =>
            row.kind === "day" ? (
              <li key={row.key} class="day">
                <span>{dayLabel(row.at, now.value)}</span>
              </li>
            ) : row.kind === "unread" ? (
              <li key={row.key} class="day unread-line">
                <span>{counted(row.count, "new message")}</span>
              </li>
            ) : (
              <Bubble
                key={row.key}
                message={row.message}
                first={row.first}
                last={row.last}
                business={business}
                tabbable={row.message.id === lastId}
              />
            ),
          )}
        </ol>
        {chat?.typing ? <TypingBubble business={business} /> : null}
      </div>
      {atEnd.value ? null : (
        <button type="button" class="to-end" onClick={toEnd} aria-label={`Newest messages (${missed.value} new)`}>
          <Icon name="down" size={22} />
          {missed.value ? <span class="badge">{missed.value}</span> : null}
        </button>
      )}
    </div>
  );
}

function TypingBubble({ business }: { business: string }) {
  return (
    <p class="typing-bubble">
      <span class="visually-hidden">{business} is typing</span>
      <i />
      <i />
      <i />
    </p>
  );
}

function Older({ thread }: { thread: Messages }) {
  const phone = usePhone();
  const busy = useSignal(false);
  const load = async () => {
    busy.value = true;
    await phone.attempt(() => thread.loadOlder());
    busy.value = false;
  };
  return (
    <p class="older">
      <button type="button" class="text-button" disabled={busy.value} onClick={load}>
        Show earlier messages
      </button>
    </p>
  );
}

/** Keep the end in sight when messages come, and what is read in place when older ones are put before it. */
function useStick(
  box: { current: HTMLDivElement | null },
  messages: Message[],
  atEnd: boolean,
  onMissed: (count: number) => void,
): void {
  const before = useRef({ first: -1, last: -1, height: 0 });
  const [first, last] = [messages[0]?.seq ?? 0, messages.at(-1)?.seq ?? 0];
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const old = before.current;
    if (old.first > first && old.last === last) element.scrollTop += element.scrollHeight - old.height;
    else if (old.last < 0 || atEnd || (old.last < last && messages.at(-1)?.from === "person")) {
      element.scrollTop = element.scrollHeight;
    } else if (old.last < last)
      onMissed(messages.filter((one) => one.seq > old.last && one.from === "business").length);
    before.current = { first, last, height: element.scrollHeight };
  });
  useEffect(() => {
    const element = box.current;
    const content = element?.querySelector("ol");
    if (!element || !content) return;
    // Pictures make the content higher after it was drawn, and the keyboard of a phone makes the box lower.
    const observer = new ResizeObserver(() => {
      if (element.scrollHeight - element.scrollTop - element.clientHeight < NEAR * 4 && before.current.last >= 0) {
        element.scrollTop = element.scrollHeight;
      }
    });
    observer.observe(content);
    observer.observe(element);
    return () => observer.disconnect();
  }, [box]);
}

/** The arrow keys move between the messages' buttons. */
function moveBetweenMessages(event: KeyboardEvent & { currentTarget: HTMLElement }): void {
  const step = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
  if (!step || !(event.target as Element).matches(".message-menu")) return;
  const buttons = [...event.currentTarget.querySelectorAll<HTMLElement>(".message-menu")];
  const next = buttons[buttons.indexOf(event.target as HTMLElement) + step];
  event.preventDefault();
  next?.focus();
}
