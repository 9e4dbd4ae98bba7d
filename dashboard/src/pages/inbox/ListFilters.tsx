import { ActionIcon, Group, Indicator, Menu } from "@mantine/core";
import { IconCheck, IconFilter } from "@tabler/icons-react";
import { useDraftCount } from "../../shared/drafts";
import { useLabelsOf } from "../../shared/labels";
import { number } from "../../shared/numbers";
import { nameOf, usePeople } from "../../shared/people";
import { ColorDot } from "../../shared/ui/LabelBadge";
import { SearchField } from "../../shared/ui/SearchField";
import classes from "./List.module.css";
import { useCounts } from "./queries";
import { SavedViews } from "./SavedViews";
import { SEARCH_FIELD } from "./Shortcuts";
import { type InboxSearch, VIEWS, type View } from "./search";

type Props = {
  search: InboxSearch;
  channels: string[];
  onChange: (part: Partial<InboxSearch>) => void;
  onView: (search: InboxSearch) => void;
};

const NO_FILTERS = { q: undefined, view: undefined, label: undefined, assignee: undefined };
const NAMES: Record<View, string> = {
  open: "Open",
  mine: "Mine",
  unassigned: "Unassigned",
  unread: "Unread",
  closing: "Closing soon",
  closed: "Closed",
};

/** The search, the views with their counts, and the filters. */
export function ListFilters({ search, channels, onChange, onView }: Props) {
  return (
    <>
      <Group gap="xs" wrap="nowrap">
        <SearchField
          id={SEARCH_FIELD}
          label="Search conversations"
          placeholder="Name, number or words"
          maxLength={200}
          value={search.q}
          onChange={(q) => onChange({ q, drafts: undefined })}
          flex={1}
        />
        {!search.drafts && <FilterMenu search={search} channels={channels} onChange={onChange} />}
        {!search.drafts && <SavedViews search={search} onView={onView} />}
      </Group>
      {!search.q && <Views search={search} channels={channels} onChange={onChange} />}
    </>
  );
}

function Views({ search, channels, onChange }: Omit<Props, "onView">) {
  const counts = useCounts(channels);
  const drafts = useDraftCount(channels);
  const view = search.drafts ? null : (search.view ?? "open");
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms
    <div className={classes.views} role="group" aria-label="Views">
      {VIEWS.map((one) => (
        <button
          key={one}
          type="button"
          className={classes.view}
          aria-pressed={one === view}
          onClick={() => onChange({ view: one === "open" ? undefined : one, drafts: undefined })}
        >
          {NAMES[one]} {one !== "closed" && <Count value={counts[one]} />}
        </button>
      ))}
      <button
        type="button"
        className={classes.view}
        aria-pressed={search.drafts !== undefined}
        onClick={() => onChange({ ...NO_FILTERS, drafts: "waiting" })}
      >
        Drafts {drafts > 0 && <span className={classes.viewCount}>{number(drafts)}</span>}
      </button>
    </div>
  );
}

function Count({ value }: { value: number | null | undefined }) {
  if (!value) return null;
  return <span className={classes.viewCount}>{value > 999 ? "999+" : value}</span>;
}

/** Filters by label and by assignee. */
function FilterMenu({ search, channels, onChange }: Omit<Props, "onView">) {
  const { lists } = useLabelsOf(channels);
  const { data: people } = usePeople();
  const byName = new Map(lists.flatMap((list) => list ?? []).map((label) => [label.name.toLowerCase(), label]));
  const chosen = (search.label ? 1 : 0) + (search.assignee ? 1 : 0);
  return (
    <Menu position="bottom-end" shadow="md" width={240}>
      <Indicator label={chosen} size={16} disabled={!chosen}>
        <Menu.Target>
          <ActionIcon
            variant={chosen ? "light" : "default"}
            size={36}
            aria-label={chosen ? `Filters, ${chosen} chosen` : "Filters"}
          >
            <IconFilter size={18} aria-hidden />
          </ActionIcon>
        </Menu.Target>
      </Indicator>
      <Menu.Dropdown mah={420} className={classes.menu}>
        <Menu.Label>Label</Menu.Label>
        <Choice chosen={!search.label} onChoose={() => onChange({ label: undefined })}>
          All
        </Choice>
        {[...byName.values()].map((label) => (
          <Choice
            key={label.id}
            chosen={search.label?.toLowerCase() === label.name.toLowerCase()}
            onChoose={() => onChange({ label: label.name })}
            dot={label.color}
          >
            {label.name}
          </Choice>
        ))}
        <Menu.Divider />
        <Menu.Label>Assignee</Menu.Label>
        <Choice chosen={!search.assignee} onChoose={() => onChange({ assignee: undefined })}>
          All
        </Choice>
        {people?.map((person) => (
          <Choice
            key={person.id}
            chosen={search.assignee === person.id}
            onChoose={() => onChange({ assignee: person.id })}
          >
            {nameOf(person)}
          </Choice>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

type ChoiceProps = { chosen: boolean; dot?: string | null; onChoose: () => void; children: string };

function Choice({ chosen, dot, onChoose, children }: ChoiceProps) {
  return (
    <Menu.Item
      onClick={onChoose}
      leftSection={dot !== undefined && <ColorDot color={dot} />}
      rightSection={chosen && <IconCheck size={16} aria-label="chosen" />}
    >
      {children}
    </Menu.Item>
  );
}
