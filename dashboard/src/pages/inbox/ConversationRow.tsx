import { Badge, Text, VisuallyHidden } from "@mantine/core";
import { memo } from "react";
import { PersonAvatar } from "../../shared/ui/PersonAvatar";
import { inOneLine } from "./content";
import classes from "./List.module.css";
import type { Conversation } from "./queries";
import { Ticks } from "./Ticks";
import { listTime, personName } from "./words";

type Props = {
  conversation: Conversation;
  channel: string;
  today: string; // the row is drawn again on another day
  channelName: string | null; // where several channels are shown
  assignee: string | null;
  current: boolean;
  onOpen: (conversation: string, channel: string) => void;
};

export const ConversationRow = memo(function ConversationRow(props: Props) {
  const { conversation, channel, channelName, assignee, current, onOpen } = props;
  const { last_message: last, unread, labels } = conversation;
  const name = personName(conversation);
  return (
    <button
      type="button"
      className={classes.row}
      data-current={current || undefined}
      data-unread={unread > 0 || undefined}
      aria-current={current ? "true" : undefined}
      onClick={() => onOpen(conversation.id, channel)}
    >
      <PersonAvatar name={conversation.contact.name} size={42} />
      <span className={classes.words}>
        <span className={classes.line}>
          <span className={classes.name}>{name}</span>
          {last && (
            <time className={classes.time} dateTime={last.created_at}>
              {listTime(last.created_at)}
            </time>
          )}
        </span>
        <span className={classes.line}>
          <span className={classes.preview}>
            {last?.direction === "out" && <Ticks message={last} />}
            <span className={classes.text} dir="auto">
              {last ? inOneLine(last) : "No message yet"}
            </span>
          </span>
          {unread > 0 && (
            <Badge size="sm" circle={unread < 10} className={classes.count}>
              {unread > 99 ? "99+" : unread}
              <VisuallyHidden> unread</VisuallyHidden>
            </Badge>
          )}
        </span>
        {(labels.length > 0 || assignee || channelName || conversation.status === "closed") && (
          <span className={classes.tags}>
            {channelName && <span className={classes.channel}>{channelName}</span>}
            {conversation.status === "closed" && (
              <Text span size="xs" c="dimmed">
                Closed
              </Text>
            )}
            {assignee && (
              <Text span size="xs" c="dimmed" truncate className={classes.assignee}>
                {assignee}
              </Text>
            )}
            {labels.slice(0, 3).map((label) => (
              <span key={label.id} className={classes.tag}>
                <span className={classes.dot} style={{ background: label.color ?? undefined }} />
                <span className={classes.tagName}>{label.name}</span>
              </span>
            ))}
          </span>
        )}
      </span>
    </button>
  );
});
