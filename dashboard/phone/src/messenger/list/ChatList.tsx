import { now } from "../../shared/clock";
import { numbers, phones, useResource } from "../../shared/resources";
import { openChat } from "../../shared/route";
import { chatsOf, chatsProblem, chatsRead, loadChats } from "../../shared/store";
import type { Chat, Person } from "../../shared/types";
import { newCount } from "../logic/missed";
import { ticks } from "../logic/threadRows";
import { shortTime } from "../logic/times";
import { phoneWord, statusWord, summary } from "../logic/words";
import { usePhone } from "../phone";
import { Avatar } from "../ui/Avatar";
import { TickMarks } from "../ui/Icon";
import { IconButton } from "../ui/IconButton";
import { NotRead } from "../ui/NotRead";
import { NewChatSheet } from "./NewChatSheet";
import { NoNumbers } from "./NoNumbers";
import { PersonMenu } from "./PersonMenu";

/** The chats of a person, the latest first. */
export function ChatList({ name, profile }: { name: string; profile: Person | null }) {
  const phone = usePhone();
  const known = [useResource(numbers), useResource(phones)] as const;
  const chats = chatsOf(phone.person);
  const none = known.every((list) => list !== null && list.length === 0);
  const problem = chatsProblem.value[phone.person];
  return (
    <section class="chat-list" aria-label={`Chats of ${name}`}>
      <header class="screen-header">
        <div class="screen-title">
          <h2>Chats</h2>
        </div>
        {none ? null : (
          <IconButton
            icon="plus"
            label="New chat"
            aria-haspopup="dialog"
            onClick={() => phone.show(<NewChatSheet phone={phone} />)}
          />
        )}
        <PersonMenu name={name} profile={profile} />
      </header>
      <div class="chat-rows">
        {problem ? <NotRead problem={problem} onAgain={() => loadChats(phone.person)} /> : null}
        {chats.length ? (
          <ul>
            {chats.map((chat) => (
              <li key={chat.number.id}>
                <ChatRow chat={chat} />
              </li>
            ))}
          </ul>
        ) : none ? (
          <NoNumbers />
        ) : chatsRead.value.has(phone.person) ? (
          <NoChats linked={Boolean(known[1]?.some((one) => one.phone === phone.person))} />
        ) : null}
      </div>
    </section>
  );
}

function ChatRow({ chat }: { chat: Chat }) {
  const name = chat.number.name || phoneWord(chat.number.phone);
  const count = newCount(chat);
  return (
    <button type="button" class="chat-row" onClick={() => openChat(chat.person, chat.number.id)}>
      <Avatar name={name} />
      <span class="chat-text">
        <span class="chat-line">
          <span class="chat-name" dir="auto">
            {name}
          </span>
          {chat.last ? <span class="chat-time">{shortTime(chat.last.at, now.value)}</span> : null}
        </span>
        <span class="chat-line">
          <LastMessage chat={chat} />
          {count ? (
            <span class="badge">
              {count}
              <span class="visually-hidden"> unread</span>
            </span>
          ) : null}
        </span>
      </span>
    </button>
  );
}

function LastMessage({ chat }: { chat: Chat }) {
  if (chat.typing) return <span class="chat-last typing">typing…</span>;
  if (chat.blocked) return <span class="chat-last">Blocked</span>;
  const { last } = chat;
  if (!last) return <span class="chat-last">No messages yet</span>;
  return (
    <span class="chat-last" dir="auto">
      {last.from === "person" && last.status !== "failed" ? (
        <>
          <TickMarks {...ticks(last.status)} />
          <span class="visually-hidden">{statusWord(last.status)}: </span>
        </>
      ) : null}
      {summary(last)}
    </span>
  );
}

function NoChats({ linked }: { linked: boolean }) {
  return (
    <div class="phone-empty">
      <h3>No chats yet</h3>
      {linked ? (
        <p>
          Programs that are linked to this phone send and receive its messages. The other side is on the phones of the
          people. To link one, open the menu and choose “Linked devices”.
        </p>
      ) : null}
      <p>Send a message to this person through the API and this phone rings. Or begin a chat with “New chat”.</p>
    </div>
  );
}
