import { Badge, Box, Group, Loader, Text, UnstyledButton } from "@mantine/core";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { remToPixels } from "../../shared/letters";
import { LabelBadge } from "../../shared/ui/LabelBadge";
import { LoadMore } from "../../shared/ui/LoadMore";
import { PersonAvatar } from "../../shared/ui/PersonAvatar";
import { Time } from "../../shared/ui/Time";
import { visibleName } from "../../shared/visibleName";
import classes from "./ContactList.module.css";
import { titleOf } from "./form";
import type { Contact, useContacts } from "./queries";

const ROW = 4; // rem, as in the style sheet
const SHOWN_LABELS = 3;

type Props = { rows: Contact[]; query: ReturnType<typeof useContacts>; onOpen: (contact: string) => void };

/** The contacts, however many: only the rows on the screen are drawn, and the next page is loaded near the end. */
export function ContactList({ rows, query, onOpen }: Props) {
  const { hasNextPage: more, isFetchingNextPage: loading, isFetchNextPageError: failed, fetchNextPage } = query;
  const mayLoad = more && !loading && !failed && !query.isRefetching;
  const list = useRef<HTMLUListElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    if (list.current) setTop(list.current.getBoundingClientRect().top + window.scrollY);
  }, []);
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => remToPixels(ROW),
    overscan: 8,
    scrollMargin: top,
    getItemKey: (i) => rows[i]?.id ?? i,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (mayLoad && last >= rows.length - 10) void fetchNextPage({ cancelRefetch: false });
  }, [mayLoad, last, rows.length, fetchNextPage]);
  return (
    <>
      <Box
        component="ul"
        ref={list}
        className={`surface ${classes.list}`}
        h={virtual.getTotalSize() + 2}
        aria-label="Contacts"
      >
        {items.map((item) => {
          const contact = rows[item.index];
          return (
            contact && (
              <li
                key={item.key}
                className={classes.row}
                style={{ transform: `translateY(${item.start - top}px)` }}
                aria-setsize={more ? -1 : rows.length}
                aria-posinset={item.index + 1}
              >
                <Row contact={contact} onOpen={() => onOpen(contact.id)} />
              </li>
            )
          );
        })}
      </Box>
      {loading && !failed && <Loader type="dots" mx="auto" aria-label="Loading more contacts" />}
      {failed && <LoadMore query={query} />}
    </>
  );
}

function Row({ contact, onOpen }: { contact: Contact; onOpen: () => void }) {
  const title = titleOf(contact);
  return (
    <UnstyledButton className={classes.open} onClick={onOpen}>
      <PersonAvatar name={title} size={38} />
      <Box flex={1} miw={0}>
        <Text size="sm" fw={600} truncate>
          {title}
        </Text>
        <Text size="xs" c="dimmed" truncate>
          {visibleName(contact.name) && contact.phone ? `+${contact.phone}` : (contact.username ?? " ")}
        </Text>
      </Box>
      <Group gap={6} wrap="nowrap" className={classes.labels}>
        {contact.opted_out && (
          <Badge variant="light" color="orange">
            Opted out
          </Badge>
        )}
        {contact.labels.slice(0, SHOWN_LABELS).map((label) => (
          <span key={label.id} className={classes.label}>
            <LabelBadge label={label} />
          </span>
        ))}
        {contact.labels.length > SHOWN_LABELS && (
          <Text size="xs" c="dimmed" className={classes.label}>
            +{contact.labels.length - SHOWN_LABELS}
          </Text>
        )}
      </Group>
      <Text size="xs" c="dimmed" className={classes.time}>
        <Time value={contact.updated_at} />
      </Text>
    </UnstyledButton>
  );
}
