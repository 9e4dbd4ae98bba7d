import { Button, Center, Loader, Skeleton, Stack, Text, Title } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef } from "react";
import { useSession } from "../../shared/session/queries";
import { Failure } from "../../shared/ui/Failure";
import { PAGE_TITLE } from "../../shared/ui/PageHeader";
import { ConversationRow } from "./ConversationRow";
import classes from "./List.module.css";
import { ListFilters } from "./ListFilters";
import { useConversations, useCounts } from "./queries";
import type { InboxSearch } from "./search";

const ROW = 76;
const AHEAD = 15; // rows before the end at which the next page is asked for

type Props = {
  search: InboxSearch;
  onChange: (part: Partial<InboxSearch>) => void;
  onOpen: (conversation: string) => void;
  onOrder: (ids: string[]) => void;
};

/** The conversations with search and filters. Only the rows that can be seen are drawn. */
export function ConversationList({ search, onChange, onOpen, onOrder }: Props) {
  const list = useConversations(search);
  const { user } = useSession();
  const { data: counts } = useCounts();
  const rows = useMemo(() => list.data?.pages.flatMap((page) => page.items) ?? [], [list.data]);
  const unread = counts?.unread ?? 0;
  useDocumentTitle(unread ? `(${unread}) Inbox – Gatepost` : "Inbox – Gatepost");
  useEffect(() => onOrder(rows.map(({ id }) => id)), [rows, onOrder]);
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    getItemKey: (index) => rows[index]?.id ?? index,
    overscan: 6,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? -1;
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = list;
  useEffect(() => {
    const near = last >= rows.length - AHEAD;
    if (near && hasNextPage && !isFetchingNextPage && !isFetchNextPageError) void fetchNextPage();
  }, [last, rows.length, hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage]);
  return (
    <section className={classes.list} data-part="list" aria-label="Conversations">
      <div className={classes.head}>
        <Title order={1} size="h3" id={PAGE_TITLE} tabIndex={-1}>
          Inbox
        </Title>
        <ListFilters search={search} onChange={onChange} />
      </div>
      <div ref={scroller} className={classes.scroll}>
        {list.isPending && <Loading />}
        {list.isError && !list.data && <Failure error={list.error} onRetry={() => void list.refetch()} />}
        {list.data && rows.length === 0 && !hasNextPage && <Nothing search={search} onChange={onChange} />}
        {rows.length > 0 && (
          // biome-ignore lint/a11y/useSemanticElements: rows are placed by hand, which a ul does not allow
          <div role="list" className={classes.rows} style={{ height: virtual.getTotalSize() }}>
            {items.map((item) => {
              const row = rows[item.index];
              return (
                row && (
                  // biome-ignore lint/a11y/useSemanticElements: as above
                  <div
                    key={item.key}
                    role="listitem"
                    className={classes.place}
                    style={{ transform: `translateY(${item.start}px)`, height: ROW }}
                    aria-setsize={hasNextPage ? -1 : rows.length}
                    aria-posinset={item.index + 1}
                  >
                    <ConversationRow
                      conversation={row}
                      current={row.id === search.conversation}
                      user={user.id}
                      onOpen={onOpen}
                    />
                  </div>
                )
              );
            })}
          </div>
        )}
        {isFetchingNextPage && (
          <Center p="sm">
            <Loader size="sm" type="dots" aria-label="Loading more" />
          </Center>
        )}
        {isFetchNextPageError && (
          <Center p="sm">
            <Button size="xs" variant="default" onClick={() => void fetchNextPage()}>
              Loading more failed. Try again
            </Button>
          </Center>
        )}
      </div>
    </section>
  );
}

function Nothing({ search, onChange }: Pick<Props, "search" | "onChange">) {
  const filtered = search.q || search.view || search.label;
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
          onClick={() => onChange({ q: undefined, view: undefined, label: undefined })}
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
