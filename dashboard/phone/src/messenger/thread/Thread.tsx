import { now } from "../../shared/clock";
import { usePerson } from "../../shared/resources";
import { openChat } from "../../shared/route";
import { chatOf, threadOf } from "../../shared/store";
import type { Chat } from "../../shared/types";
import { Composer } from "../composer/Composer";
import { isOnline, presenceWord } from "../logic/presence";
import { offlineUntil } from "../logic/profile";
import { isShown } from "../logic/threadRows";
import { timeLeft } from "../logic/times";
import { phoneWord } from "../logic/words";
import { ChatContext, type OpenChat, usePhone } from "../phone";
import { Avatar } from "../ui/Avatar";
import { IconButton } from "../ui/IconButton";
import { Menu, type MenuItem } from "../ui/Menu";
import { NotRead } from "../ui/NotRead";
import { MessageList } from "./MessageList";
import { UnknownNumber } from "./UnknownNumber";
import { useReading } from "./useReading";

/** A chat that is open. */
export function Thread({ number }: { number: string }) {
  const phone = usePhone();
  const chat = chatOf(phone.person, number);
  const thread = threadOf(phone.person, number);
  const open = phone.chatWith(number);
  const messages = thread.messages.value?.filter(isShown);
  useReading(open, chat?.unread ?? 0);
  return (
    <ChatContext.Provider value={open}>
      <section class="thread" aria-label={`Chat with ${chat?.number.name ?? number}`}>
        <ThreadHeader chat={chat} open={open} />
        {thread.unknown.value ? (
          <UnknownNumber number={number} problem={thread.problem.value} onCreated={() => thread.load()} />
        ) : thread.problem.value && !messages ? (
          <NotRead problem={thread.problem.value} onAgain={() => thread.load()} />
        ) : messages ? (
          <MessageList key={number} messages={messages} thread={thread} chat={chat} />
        ) : (
          <p class="thread-empty" role="status">
            Loading…
          </p>
        )}
        {messages ? chat?.blocked ? <BlockedBar open={open} /> : <Composer open={open} chat={chat} /> : null}
      </section>
    </ChatContext.Provider>
  );
}

function ThreadHeader({ chat, open }: { chat: Chat | null; open: OpenChat }) {
  const name = chat?.number.name || phoneWord(chat?.number.phone ?? open.number);
  return (
    <header class="screen-header">
      <IconButton icon="back" label="Back to the chats" onClick={() => openChat(open.phone.person, null)} />
      <Avatar name={name} />
      <div class="screen-title">
        <h2 dir="auto">{name}</h2>
        {chat ? <Presence chat={chat} /> : null}
        <p>{chat ? details(chat) : ""}</p>
      </div>
      {chat ? <Menu label="Chat menu" items={chatMenu(chat, open)} /> : null}
    </header>
  );
}

/** Whether the business types, is online, or when it was seen; nothing while the person's own phone is offline. */
function Presence({ chat }: { chat: Chat }) {
  const { profile } = usePerson(chat.person);
  if (offlineUntil(profile, now.value) !== null) return null;
  const active = chat.typing || isOnline(chat.presence, now.value);
  const text = chat.typing ? "typing…" : presenceWord(chat.presence, now.value);
  return text ? <p class={active ? "active" : ""}>{text}</p> : null;
}

function details(chat: Chat): string {
  const phone = phoneWord(chat.number.phone);
  if (chat.number.network === "qr") return `${phone} · linked by QR code`;
  const left = chat.window_ends_at ? timeLeft(chat.window_ends_at, now.value) : null;
  return left ? `${phone} · window ${left}` : `${phone} · window closed`;
}

function chatMenu(chat: Chat, open: OpenChat): MenuItem[] {
  const items: MenuItem[] = [
    {
      icon: "block",
      label: chat.blocked ? "Unblock" : "Block",
      danger: !chat.blocked,
      onSelect: () => open.change("block", { blocked: !chat.blocked }),
    },
    { icon: "flag", label: "Report and block", danger: true, onSelect: () => report(chat, open) },
  ];
  if (chat.number.network === "official") {
    items.unshift({
      icon: "tag",
      label: chat.marketing_stopped ? "Resume marketing" : "Stop marketing",
      onSelect: () => open.change("marketing", { stopped: !chat.marketing_stopped }),
    });
  }
  return items;
}

async function report(chat: Chat, open: OpenChat): Promise<void> {
  if (await open.change("report")) open.phone.say(`${chat.number.name} was reported and blocked.`);
}

function BlockedBar({ open }: { open: OpenChat }) {
  return (
    <div class="blocked-bar">
      <p>You blocked this number. Its messages do not arrive.</p>
      <button type="button" class="button" onClick={() => open.change("block", { blocked: false })}>
        Unblock
      </button>
    </div>
  );
}
