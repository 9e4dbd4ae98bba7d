import { ActionIcon, CloseButton, Group, Menu, SegmentedControl, TextInput } from "@mantine/core";
import { IconCheck, IconFilter, IconSearch } from "@tabler/icons-react";
import { useEffect, useState } from "react";
import classes from "./List.module.css";
import { useCounts, useLabels } from "./queries";
import { SEARCH_FIELD } from "./Shortcuts";
import { type InboxSearch, VIEWS, type View } from "./search";

type Props = { search: InboxSearch; onChange: (part: Partial<InboxSearch>) => void };

const PAUSE_MS = 300;

export function ListFilters({ search, onChange }: Props) {
  const { data: labels } = useLabels();
  const { data: counts } = useCounts();
  const labelOf: Record<View, string> = {
    open: withCount("Open", counts?.open),
    mine: withCount("Mine", counts?.mine),
    unread: withCount("Unread", counts?.unread),
    closed: "Closed",
  };
  return (
    <>
      <Group gap="xs" wrap="nowrap">
        <SearchField q={search.q} onChange={onChange} />
        <Menu position="bottom-end" shadow="md" width={220}>
          <Menu.Target>
            <ActionIcon variant={search.label ? "light" : "default"} size={36} aria-label="Filter by label">
              <IconFilter size={18} aria-hidden />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Label>Label</Menu.Label>
            <Menu.Item onClick={() => onChange({ label: undefined })} rightSection={!search.label && <Chosen />}>
              All
            </Menu.Item>
            {labels?.map((label) => (
              <Menu.Item
                key={label.id}
                leftSection={<span className={classes.dot} style={{ background: label.color ?? undefined }} />}
                rightSection={search.label === label.id && <Chosen />}
                onClick={() => onChange({ label: label.id })}
              >
                {label.name}
              </Menu.Item>
            ))}
            {labels?.length === 0 && <Menu.Item disabled>No label yet</Menu.Item>}
          </Menu.Dropdown>
        </Menu>
      </Group>
      {!search.q && (
        <SegmentedControl
          size="xs"
          fullWidth
          aria-label="Which conversations"
          value={search.view ?? "open"}
          onChange={(view) => onChange({ view: view === "open" ? undefined : (view as View) })}
          data={VIEWS.map((value) => ({ value, label: labelOf[value] }))}
        />
      )}
    </>
  );
}

function Chosen() {
  return <IconCheck size={16} aria-label="chosen" />;
}

function withCount(label: string, count: number | null | undefined): string {
  return count ? `${label} ${count > 999 ? "999+" : count}` : label;
}

/** Finds conversations by name, number or words, shortly after the last key. */
function SearchField({ q = "", onChange }: { q?: string; onChange: Props["onChange"] }) {
  const [text, setText] = useState(q);
  const wanted = text.trim() ? text : "";
  useEffect(() => {
    if (wanted === q) return;
    const timer = setTimeout(() => onChange({ q: wanted || undefined }), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [wanted, q, onChange]);
  return (
    <TextInput
      id={SEARCH_FIELD}
      flex={1}
      type="search"
      maxLength={200}
      aria-label="Search conversations"
      placeholder="Name, number or words"
      leftSection={<IconSearch size={16} aria-hidden />}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      rightSection={text && <CloseButton size="sm" aria-label="Clear the search" onClick={() => setText("")} />}
    />
  );
}
