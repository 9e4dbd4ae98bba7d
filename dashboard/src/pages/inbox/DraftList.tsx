import { Center, Loader, Skeleton, Stack, Text, Title } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import { useEffect } from "react";
import { Failure } from "../../shared/ui/Failure";
import { LoadMore } from "../../shared/ui/LoadMore";
import { PAGE_TITLE } from "../../shared/ui/PageHeader";
import { PersonAvatar } from "../../shared/ui/PersonAvatar";
import { useNow } from "../../shared/useNow";
import { inOneLine } from "./content";
import { asMessage } from "./draftFields";
import { type Draft, type DraftState, useDraftList } from "./draftQueries";
import { authorName, DRAFT_STATES, draftLook, recipientName, stateNow } from "./draftWords";
import classes from "./List.module.css";
import { ListFilters } from "./ListFilters";
import type { InboxSearch } from "./search";
import type { Place } from "./steps";
import { listTime } from "./words";

type Props = {
  search: InboxSearch;
  state: DraftState;
  channels: string[];
  onChange: (part: Partial<InboxSearch>) => void;
  onView: (search: InboxSearch) => void;
  onOpen: (draft: Draft, channel: string) => void;
  onOrder: (order: Place[]) => void;
};

/** The drafts of the channels in one state, the newest first, in the place of the conversations. */
export function DraftList({ search, state, channels, onChange, onView, onOpen, onOrder }: Props) {
  const list = useDraftList(channels, state);
  const { rows, error } = list;
  useDocumentTitle("Drafts – Gatepost");
  useEffect(
    () => onOrder(rows.flatMap(({ item, channel }) => (item.conversation ? [{ id: item.conversation, channel }] : []))),
    [rows, onOrder],
  );
  return (
    <section className={classes.list} data-part="list" aria-label="Drafts">
      <div className={classes.head}>
        <Title order={1} size="h3" id={PAGE_TITLE} tabIndex={-1}>
          Inbox
        </Title>
        <ListFilters search={search} channels={channels} onChange={onChange} onView={onView} />
        <States state={state} onChange={(drafts) => onChange({ drafts })} />
      </div>
      <div className={classes.scroll}>
        {list.isPending && rows.length === 0 && !error && <Skeleton height={60} m="md" aria-label="Loading drafts" />}
        {error && rows.length === 0 && <Failure error={error} onRetry={list.retry} />}
        {!list.isPending && !error && rows.length === 0 && !list.hasNextPage && <Nothing state={state} />}
        <Stack component="ul" gap={0} m={0} p={0} className={classes.saved}>
          {rows.map(({ item, channel }) => (
            <li key={item.id} className={classes.draft}>
              <DraftRow draft={item} current={item.id === search.draft} onOpen={() => onOpen(item, channel)} />
            </li>
          ))}
        </Stack>
        {list.isFetchingNextPage ? (
          <Center p="sm">
            <Loader size="sm" type="dots" aria-label="Loading more" />
          </Center>
        ) : (
          rows.length > 0 && <LoadMore query={list} />
        )}
      </div>
    </section>
  );
}

function States({ state, onChange }: { state: DraftState; onChange: (state: DraftState) => void }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms
    <div className={classes.views} role="group" aria-label="State of the drafts">
      {DRAFT_STATES.map((one) => (
        <button
          key={one}
          type="button"
          className={classes.view}
          aria-pressed={one === state}
          onClick={() => onChange(one)}
        >
          {draftLook(one).label}
        </button>
      ))}
    </div>
  );
}

function DraftRow({ draft, current, onOpen }: { draft: Draft; current: boolean; onOpen: () => void }) {
  const now = useNow();
  const state = stateNow(draft, now);
  return (
    <button
      type="button"
      className={classes.row}
      data-current={current || undefined}
      aria-current={current ? "true" : undefined}
      onClick={onOpen}
    >
      <PersonAvatar name={draft.contact?.name} size={42} />
      <span className={classes.words}>
        <span className={classes.line}>
          <span className={classes.name}>{recipientName(draft)}</span>
          <time className={classes.time} dateTime={draft.created_at}>
            {listTime(draft.created_at)}
          </time>
        </span>
        <span className={classes.line}>
          <span className={classes.preview}>
            <span className={classes.text}>{inOneLine(asMessage(draft))}</span>
          </span>
        </span>
        <span className={classes.tags}>
          <Text span size="xs" c="dimmed" truncate className={classes.assignee}>
            {state === "waiting" || state === draft.state ? authorName(draft.created_by) : draftLook(state).label}
          </Text>
        </span>
      </span>
    </button>
  );
}

const EMPTY: Record<DraftState, string> = {
  waiting: "When an assistant writes a message that a person has to approve, it waits here.",
  sent: "Drafts that somebody has sent are listed here.",
  refused: "Drafts that somebody has refused are listed here.",
  expired: "Drafts that nobody has decided in time are listed here.",
};

function Nothing({ state }: { state: DraftState }) {
  return (
    <Stack align="center" gap="xs" p="xl" ta="center">
      <Text fw={600}>{state === "waiting" ? "No draft waits" : "No such draft"}</Text>
      <Text size="sm" c="dimmed">
        {EMPTY[state]}
      </Text>
    </Stack>
  );
}
