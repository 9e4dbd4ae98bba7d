import type { Message } from "../../shared/types";
import { ViewBody, ViewChoices } from "../content/ViewContent";
import { groupReactions, ticks } from "../logic/threadRows";
import { clockTime } from "../logic/times";
import { statusWord } from "../logic/words";
import { useOpenChat } from "../phone";
import { MessageSheet } from "../sheets/MessageSheet";
import { Fallback } from "../ui/Fallback";
import { Icon, TickMarks } from "../ui/Icon";
import { IconButton } from "../ui/IconButton";
import { usePress } from "./usePress";

interface Props {
  message: Message;
  first: boolean;
  last: boolean;
  business: string;
  tabbable: boolean;
}

/** One message. Long press, right click and the button beside it open what can be done with it. */
export function Bubble({ message, first, last, business, tabbable }: Props) {
  const chat = useOpenChat();
  const own = message.from === "person";
  const open = () => chat.phone.show(<MessageSheet chat={chat} message={message} />);
  const press = usePress(open);
  const classes = ["message", own ? "own" : "theirs", first ? "first" : "", last ? "last" : ""];
  if (message.status === "failed") classes.push("failed");
  if (isBare(message)) classes.push("bare");
  return (
    <li class={classes.join(" ")} data-seq={message.seq}>
      <article class="bubble" aria-label={`${own ? "You" : business}, ${clockTime(message.at)}`} {...press}>
        {message.forwarded ? <p class="bubble-note">Forwarded</p> : null}
        {message.quote ? <QuoteBox quote={message.quote} business={business} /> : null}
        {message.deleted ? (
          <p class="bubble-note deleted">
            <Icon name="block" size={16} /> This message was deleted
          </p>
        ) : (
          <Fallback instead={<p class="bubble-note">This phone cannot show this message.</p>}>
            <ViewBody view={message.view} message={message} />
          </Fallback>
        )}
        <Meta message={message} own={own} />
        {message.deleted ? null : (
          <Fallback instead={null}>
            <ViewChoices view={message.view} message={message} />
          </Fallback>
        )}
      </article>
      {message.deleted ? null : (
        <IconButton
          icon="smile"
          label="Message actions"
          class="message-menu"
          tabIndex={tabbable ? 0 : -1}
          onClick={open}
        />
      )}
      <Reactions message={message} />
      {message.error ? (
        <p class="failure">
          <Icon name="warning" size={16} /> Failed: {message.error.title} ({message.error.code})
        </p>
      ) : null}
    </li>
  );
}

/** Stickers have no bubble around them. */
function isBare(message: Message): boolean {
  return message.view.media?.kind === "sticker" && !message.view.text && !message.quote && !message.deleted;
}

function QuoteBox({ quote, business }: { quote: NonNullable<Message["quote"]>; business: string }) {
  return (
    <blockquote class="quote-box">
      <strong>{quote.from === "person" ? "You" : quote.from ? business : "Unknown message"}</strong>
      <span dir="auto">{quote.from ? quote.text || quote.type : "It is not in this chat any more."}</span>
    </blockquote>
  );
}

function Meta({ message, own }: { message: Message; own: boolean }) {
  return (
    <p class="meta">
      {message.edited ? <span>Edited</span> : null}
      <time dateTime={new Date(message.at * 1000).toISOString()}>{clockTime(message.at)}</time>
      {own && message.status !== "failed" ? (
        <>
          <TickMarks {...ticks(message.status)} />
          <span class="visually-hidden">{statusWord(message.status)}</span>
        </>
      ) : null}
    </p>
  );
}

function Reactions({ message }: { message: Message }) {
  const groups = groupReactions(message.reactions);
  if (!groups.length) return null;
  return (
    <ul class="reactions" aria-label="Reactions">
      {groups.map(({ emoji, count, mine }) => (
        <li class={mine ? "mine" : ""}>
          {emoji}
          {count > 1 ? ` ${count}` : ""}
        </li>
      ))}
    </ul>
  );
}
