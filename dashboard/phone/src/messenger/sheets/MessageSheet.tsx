import { now } from "../../shared/clock";
import { copyText } from "../../shared/copy";
import type { Message } from "../../shared/types";
import { clockTime, dayLabel } from "../logic/times";
import { statusWord, summary } from "../logic/words";
import type { OpenChat } from "../phone";
import { Icon, type IconName } from "../ui/Icon";
import { Sheet } from "../ui/Sheet";

const QUICK = ["👍", "❤️", "😂", "😮", "😢", "🙏"];
const OTHERS = [
  "🔥",
  "🎉",
  "👏",
  "💯",
  "✅",
  "❌",
  "👀",
  "🤔",
  "😍",
  "😎",
  "😡",
  "👎",
  "🙌",
  "💪",
  "🚀",
  "⭐",
  "☕",
  "🍕",
];

/** What the person can do with a message: react, answer, copy, edit, delete. */
export function MessageSheet({ chat, message }: { chat: OpenChat; message: Message }) {
  const { phone } = chat;
  const own = message.from === "person";
  const text = message.view.text ?? "";
  const done = (action: () => void) => () => {
    phone.close();
    action();
  };
  return (
    <Sheet title="Message" onClose={phone.close}>
      <p class="quoted-line" dir="auto">
        {summary(message)}
      </p>
      <Reactions chat={chat} message={message} />
      <ul class="actions">
        <Action icon="reply" label="Reply" onSelect={done(() => startReply(chat, message))} />
        {text ? <Action icon="copy" label="Copy text" onSelect={done(() => copy(chat, text))} /> : null}
        {own && text && !message.view.media ? (
          <Action icon="edit" label="Edit" onSelect={done(() => startEdit(chat, message))} />
        ) : null}
        {own ? (
          <Action
            icon="trash"
            label="Delete for everyone"
            danger
            onSelect={done(() => chat.send({ type: "delete", target: message.id }))}
          />
        ) : null}
      </ul>
      <dl class="details">
        <dt>Status</dt>
        <dd>
          {statusWord(message.status)}
          {message.error ? ` (${message.error.code}: ${message.error.title})` : ""}
        </dd>
        <dt>Time</dt>
        <dd>
          {dayLabel(message.at, now.value)}, {clockTime(message.at)}
        </dd>
        <dt>Id</dt>
        <dd class="mono">{message.id}</dd>
      </dl>
    </Sheet>
  );
}

function Reactions({ chat, message }: { chat: OpenChat; message: Message }) {
  const mine = message.reactions.find((reaction) => reaction.from === "person")?.emoji ?? "";
  const react = (emoji: string) => {
    chat.phone.close();
    chat.send({ type: "reaction", target: message.id, emoji: emoji === mine ? "" : emoji });
  };
  const choices = mine && ![...QUICK, ...OTHERS].includes(mine) ? [mine, ...QUICK] : QUICK;
  return (
    <>
      <fieldset class="emojis" aria-label="React">
        {choices.map((emoji) => (
          <EmojiButton emoji={emoji} mine={emoji === mine} react={react} />
        ))}
      </fieldset>
      <details class="more-emojis" open={OTHERS.includes(mine)}>
        <summary>More reactions</summary>
        <fieldset class="emojis" aria-label="More reactions">
          {OTHERS.map((emoji) => (
            <EmojiButton emoji={emoji} mine={emoji === mine} react={react} />
          ))}
        </fieldset>
      </details>
    </>
  );
}

function EmojiButton({ emoji, mine, react }: { emoji: string; mine: boolean; react: (emoji: string) => void }) {
  return (
    <button
      type="button"
      class="emoji"
      aria-pressed={mine}
      aria-label={mine ? `Remove ${emoji}` : `React with ${emoji}`}
      onClick={() => react(emoji)}
    >
      {emoji}
    </button>
  );
}

interface ActionProps {
  icon: IconName;
  label: string;
  onSelect: () => void;
  danger?: boolean;
}

export function Action({ icon, label, onSelect, danger = false }: ActionProps) {
  return (
    <li>
      <button type="button" class={danger ? "sheet-action danger" : "sheet-action"} onClick={onSelect}>
        <Icon name={icon} /> {label}
      </button>
    </li>
  );
}

function startReply(chat: OpenChat, message: Message): void {
  chat.editing.value = null;
  chat.quoted.value = message;
}

function startEdit(chat: OpenChat, message: Message): void {
  chat.quoted.value = null;
  chat.editing.value = message;
  chat.draft.value = message.view.text ?? "";
}

async function copy(chat: OpenChat, text: string): Promise<void> {
  chat.phone.say((await copyText(text)) ? "Copied" : "The browser does not allow copying here.");
}
