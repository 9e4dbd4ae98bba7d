import { Badge, Text, VisuallyHidden } from "@mantine/core";
import { memo } from "react";
import { PersonAvatar } from "../../shared/ui/PersonAvatar";
import { inOneLine } from "./content";
import classes from "./List.module.css";
import type { Conversation } from "./queries";
import { Ticks } from "./Ticks";
import { assigneeWords, listTime, personName } from "./words";

type Props = { conversation: Conversation; current: boolean; user: string; onOpen: (id: string) => void };

export const ConversationRow = memo(function ConversationRow({ conversation, current, user, onOpen }: Props) {
  const { last_message: last, unread, labels } = conversation;
  const name = personName(conversation);
  return (
    <button
      type="button"
      className={classes.row}
      data-current={current || undefined}
      data-unread={unread > 0 || undefined}
      aria-current={current ? "true" : undefined}
      onClick={() => onOpen(conversation.id)}
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
            <span className={classes.text}>{last ? inOneLine(last) : "No message yet"}</span>
          </span>
          {unread > 0 && (
            <Badge size="sm" circle={unread < 10} className={classes.count}>
              {unread > 99 ? "99+" : unread}
              <VisuallyHidden> unread</VisuallyHidden>
            </Badge>
          )}
        </span>
        {(labels.length > 0 || conversation.assignee || conversation.status === "closed") && (
          <span className={classes.tags}>
            {conversation.status === "closed" && (
              <Text span size="xs" c="dimmed">
                Closed
              </Text>
            )}
            {conversation.assignee && (
              <Text span size="xs" c="dimmed" truncate>
                {assigneeWords(conversation.assignee, user)}
              </Text>
            )}
            {labels.slice(0, 3).map((label) => (
              <span key={label.id} className={classes.tag}>
                <span className={classes.dot} style={{ background: label.color ?? undefined }} />
                {label.name}
              </span>
            ))}
          </span>
        )}
      </span>
    </button>
  );
});
