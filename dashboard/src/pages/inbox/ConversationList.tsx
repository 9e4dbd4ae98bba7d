import { Button, Center, Loader, Skeleton, Stack, Text, Title } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import { useChannels } from "../../shared/channels";
import { remToPixels } from "../../shared/letters";
import { useNames } from "../../shared/people";
import { Failure } from "../../shared/ui/Failure";
import { PAGE_TITLE } from "../../shared/ui/PageHeader";
import { ConversationRow } from "./ConversationRow";
import classes from "./List.module.css";
import { ListFilters } from "./ListFilters";
import { useCounts, useInboxList } from "./queries";
import { type InboxSearch, isFiltered } from "./search";
import type { Place } from "./steps";
import { useToday } from "./useNow";

const ROW = 4.75; // rem
const AHEAD = 15; // rows before the end at which the next page is asked for

type Props = {
  search: InboxSearch;
  channels: string[];
  onChange: (part: Partial<InboxSearch>) => void;
  onView: (search: InboxSearch) => void;
  onOpen: (conversation: string, channel: string) => void;
  onOrder: (order: Place[]) => void;
};

/** The conversations with search and filters. Only the rows that can be seen are drawn. */
export function ConversationList({ search, channels, onChange, onView, onOpen, onOrder }: Props) {
  const list = useInboxList(search, channels);
  const { rows, hasMore, isLoadingMore, error, loadMore } = list;
  const channelNames = useChannelNames(channels);
  const names = useNames();
  const today = useToday();
  const { unread } = useCounts(channels);
  useDocumentTitle(unread ? `(${unread}) Inbox – Gatepost` : "Inbox – Gatepost");
  useEffect(() => onOrder(rows.map(({ conversation: { id }, channel }) => ({ id, channel }))), [rows, onOrder]);
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => remToPixels(ROW),
    getItemKey: (index) => keyOf(rows[index]) ?? index,
    overscan: 6,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? -1;
  useEffect(() => {
    const near = last >= rows.length - AHEAD;
    if (near && hasMore && !isLoadingMore && !error) loadMore();
  }, [last, rows.length, hasMore, isLoadingMore, error, loadMore]);
  return (
    <section className={classes.list} data-part="list" aria-label="Conversations">
      <div className={classes.head}>
        <Title order={1} size="h3" id={PAGE_TITLE} tabIndex={-1}>
          Inbox
        </Title>
        <ListFilters search={search} channels={channels} onChange={onChange} onView={onView} />
      </div>
      <div ref={scroller} className={classes.scroll}>
        {list.isPending && rows.length === 0 && !error && <Loading />}
        {error && rows.length === 0 && <Failure error={error} onRetry={list.retry} />}
        {!list.isPending && !error && rows.length === 0 && !hasMore && <Nothing search={search} onChange={onChange} />}
        {rows.length > 0 && (
          // biome-ignore lint/a11y/useSemanticElements: rows are placed by hand, which a ul does not allow
          <div role="list" className={classes.rows} style={{ height: virtual.getTotalSize() }}>
            {items.map((item) => {
              const row = rows[item.index];
              if (!row) return null;
              const { conversation, channel } = row;
              return (
                // biome-ignore lint/a11y/useSemanticElements: as above
                <div
                  key={item.key}
                  role="listitem"
                  className={classes.place}
                  style={{ transform: `translateY(${item.start}px)`, height: `${ROW}rem` }}
                  aria-setsize={hasMore ? -1 : rows.length}
                  aria-posinset={item.index + 1}
                >
                  <ConversationRow
                    conversation={conversation}
                    channel={channel}
                    today={today}
                    channelName={channelNames.get(channel) ?? null}
                    assignee={conversation.assignee && names(conversation.assignee)}
                    current={conversation.id === search.conversation}
                    onOpen={onOpen}
                  />
                </div>
              );
            })}
          </div>
        )}
        {isLoadingMore && (
          <Center p="sm">
            <Loader size="sm" type="dots" aria-label="Loading more" />
          </Center>
        )}
        {error && rows.length > 0 && (
          <Center p="sm">
            <Button size="xs" variant="default" onClick={list.retry}>
              {list.isMoreFailed ? "Loading more failed. Try again" : "Loading failed. Try again"}
            </Button>
          </Center>
        )}
      </div>
    </section>
  );
}

function keyOf(row: { channel: string; conversation: { id: string } } | undefined): string | undefined {
  return row && row.channel + row.conversation.id;
}

/** The names of the channels, where the list shows several. */
function useChannelNames(channels: string[]): Map<string, string> {
  const { data } = useChannels();
  if (channels.length < 2) return new Map();
  return new Map(data?.map(({ id, name }) => [id, name]));
}

function Nothing({ search, onChange }: Pick<Props, "search" | "onChange">) {
  const filtered = isFiltered(search);
  return (
    <Stack align="center" gap="xs" p="xl" ta="center">
      <Text fw={600}>{filtered ? "Nothing fits" : "No open conversation"}</Text>
      <Text size="sm" c="dimmed">
        {search.q
          ? "The search finds the beginning of a name or number, and words of messages."
          : filtered
            ? "No conversation is in this view now."
            : "Conversations appear here as soon as a person writes, or you send a message."}
      </Text>
      {filtered && (
        <Button
          size="xs"
          variant="default"
          onClick={() => onChange({ q: undefined, view: undefined, label: undefined, assignee: undefined })}
        >
          Show all open ones
        </Button>
      )}
    </Stack>
  );
}

function Loading() {
  return (
    <Stack gap={0} role="status" aria-label="Loading conversations">
      {[0, 1, 2, 3, 4, 5, 6].map((row) => (
        <div key={row} className={classes.skeleton}>
          <Skeleton circle height={42} />
          <Stack gap={8} flex={1}>
            <Skeleton height={12} width="55%" />
            <Skeleton height={10} width="85%" />
          </Stack>
        </div>
      ))}
    </Stack>
  );
}
