import { ActionIcon, Anchor, Group, Menu, Text, UnstyledButton } from "@mantine/core";
import {
  IconCopy,
  IconCornerUpLeft,
  IconDotsVertical,
  IconMoodSmile,
  IconPencil,
  IconTimeline,
  IconTrash,
  IconX,
} from "@tabler/icons-react";
import { memo } from "react";
import { copyText } from "../../shared/copy";
import { perform } from "../../shared/mutations";
import { randomKey } from "../../shared/randomKey";
import { useSession } from "../../shared/session/queries";
import { inFull } from "../../shared/times";
import { showDone, showFailure } from "../../shared/ui/notices";
import { visibleName } from "../../shared/visibleName";
import { type Body, inOneLine, readBody } from "./content";
import { MessageBody } from "./MessageBody";
import { type Message, useCancelMessage, useChannelInfo, useSend } from "./queries";
import classes from "./Thread.module.css";
import { Ticks } from "./Ticks";
import { failureWords, isOfGroup, senderWords, timeOfDay } from "./words";

const EMOJIS = ["👍", "❤️", "😂", "😮", "🙏"];

const WAITING = new Set(["SCHEDULED", "PENDING"]);
const SENT = new Set(["SENT", "DELIVERED", "READ", "PLAYED"]);

/** Whether a message has left the channel: the network can only change such ones. */
const isSent = ({ direction, status }: Message) => direction === "out" && SENT.has(status);

type Props = {
  message: Message;
  first: boolean;
  quoted: Message | undefined;
  found: boolean;
  person: string;
  onJump: (id: string) => void;
  onTrace: (id: string) => void;
  onReply: (message: Message) => void;
  onEdit: (message: Message) => void;
  onDelete: (message: Message) => void;
};

export const MessageRow = memo(function MessageRow(props: Props) {
  const { message, first, quoted, found, person, onJump, onTrace } = props;
  const body = readBody(message);
  const out = message.direction === "out";
  const sender = senderWords(message, useSession().user.id);
  if (body.kind === "event") {
    return (
      <div className={classes.event}>
        <span>{body.text}</span>
      </div>
    );
  }
  const context = (message.context ?? {}) as { forwarded?: boolean; author?: { name?: string; phone?: string } };
  return (
    <article
      className={classes.message}
      data-side={message.direction}
      data-first={first || undefined}
      data-found={found || undefined}
      aria-label={`${out ? (sender ?? "You") : person}, ${timeOfDay(message.created_at)}`}
    >
      <div className={classes.beside}>
        <div className={classes.bubble} data-bare={isBare(body) || undefined}>
          {context.author && (
            <Text size="xs" fw={600} c="dimmed">
              {visibleName(context.author.name) ||
                (context.author.phone ? `+${context.author.phone}` : "A member of the group")}
            </Text>
          )}
          {context.forwarded && (
            <Text size="xs" c="dimmed" fs="italic">
              Forwarded
            </Text>
          )}
          {message.reply_to && (
            <UnstyledButton className={classes.quote} onClick={() => onJump(message.reply_to ?? "")}>
              <span className={classes.quoted}>
                {quoted ? (quoted.direction === "out" ? "You" : person) : "Quoted message"}
              </span>
              <span className={classes.quotedText} dir="auto">
                {quoted ? inOneLine(quoted) : "Show it"}
              </span>
            </UnstyledButton>
          )}
          <MessageBody body={body} />
          <span className={classes.foot}>
            {sender && <span className={classes.sender}>{sender}</span>}
            {message.edited_at && <span title={inFull(message.edited_at)}>Edited</span>}
            <time dateTime={message.created_at} title={inFull(message.created_at)}>
              {timeOfDay(message.created_at)}
            </time>
            {out && <Ticks message={message} />}
          </span>
        </div>
        {body.kind !== "deleted" && <Actions {...props} body={body} />}
      </div>
      {message.reactions.length > 0 && (
        <span
          className={classes.reactions}
          role="img"
          aria-label={`Reactions: ${message.reactions.map(({ emoji }) => emoji).join(" ")}`}
        >
          {[...new Set(message.reactions.map(({ emoji }) => emoji))].join(" ")}
          {message.reactions.length > 1 && ` ${message.reactions.length}`}
        </span>
      )}
      <Failed message={message} onTrace={onTrace} />
    </article>
  );
});

function isBare(body: Body): boolean {
  return body.kind === "file" && body.look === "sticker";
}

/** Why a message was not sent, what to do, and the way to its trace. */
function Failed({ message, onTrace }: Pick<Props, "message" | "onTrace">) {
  const failure = failureWords(message);
  if (!failure) {
    if (message.status === "SCHEDULED" && message.send_at) {
      return (
        <Text size="xs" c="dimmed" className={classes.under}>
          Will be sent on {inFull(message.send_at)}
        </Text>
      );
    }
    return message.waiting && message.waiting.rule !== "sending" && message.status === "PENDING" ? (
      <Text size="xs" c="dimmed" className={classes.under}>
        {message.waiting.because}
      </Text>
    ) : null;
  }
  return (
    <div className={classes.failure}>
      <Text size="xs" span>
        {failure.what} {failure.advice}{" "}
      </Text>
      <Anchor component="button" type="button" size="xs" underline="always" onClick={() => onTrace(message.key.id)}>
        What happened
      </Anchor>
    </div>
  );
}

function Actions({ message, body, onReply, onEdit, onDelete, onTrace }: Props & { body: Body }) {
  const maySend = useSession().scopes.includes("send");
  const { data: info } = useChannelInfo();
  const send = useSend();
  const cancel = useCancelMessage();
  const text = body.kind === "text" ? body.text : body.kind === "file" ? body.caption : null;
  const mayReact = maySend && !isOfGroup(message) && info?.capabilities.types.includes("reaction");
  const react = (emoji: string) => {
    const request = { contact: message.contact.id, type: "reaction" as const };
    const mine = message.reactions.some((one) => one.from === "me" && one.emoji === emoji);
    perform(
      send,
      {
        body: { ...request, reaction: { message_id: message.key.id, emoji: mine ? "" : emoji } },
        key: randomKey(),
      },
      { onError: showFailure },
    );
  };
  return (
    <Menu position="bottom-end" shadow="md" width={220}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="sm" className={classes.more} aria-label="Actions">
          <IconDotsVertical size={16} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {mayReact && (
          <Group gap={2} px={6} py={4} role="group" aria-label="React" wrap="nowrap">
            <IconMoodSmile size={16} aria-hidden />
            {EMOJIS.map((emoji) => (
              <Menu.Item key={emoji} w="auto" p={6} aria-label={`React ${emoji}`} onClick={() => react(emoji)}>
                {emoji}
              </Menu.Item>
            ))}
          </Group>
        )}
        {maySend && (
          <Menu.Item leftSection={<IconCornerUpLeft size={16} aria-hidden />} onClick={() => onReply(message)}>
            Reply
          </Menu.Item>
        )}
        {maySend && info?.capabilities.edit && body.kind === "text" && isSent(message) && (
          <Menu.Item leftSection={<IconPencil size={16} aria-hidden />} onClick={() => onEdit(message)}>
            Edit
          </Menu.Item>
        )}
        {text && (
          <Menu.Item
            leftSection={<IconCopy size={16} aria-hidden />}
            onClick={() => void copyText(text).then((copied) => copied && showDone("Copied."))}
          >
            Copy the text
          </Menu.Item>
        )}
        <Menu.Item leftSection={<IconTimeline size={16} aria-hidden />} onClick={() => onTrace(message.key.id)}>
          Trace
        </Menu.Item>
        {maySend && WAITING.has(message.status) && (
          <Menu.Item
            leftSection={<IconX size={16} aria-hidden />}
            onClick={() => perform(cancel, message.key.id, { onError: showFailure })}
          >
            Do not send
          </Menu.Item>
        )}
        {maySend && info?.capabilities.delete && message.direction === "out" && (
          <Menu.Item color="red" leftSection={<IconTrash size={16} aria-hidden />} onClick={() => onDelete(message)}>
            Delete for everyone
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
