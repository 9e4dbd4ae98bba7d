import { Box, Select, Stack } from "@mantine/core";
import { IconHistory } from "@tabler/icons-react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { rowsOf } from "../../shared/lists";
import { usePeople } from "../../shared/people";
import { useSession } from "../../shared/session/queries";
import { type Column, DataTable } from "../../shared/ui/DataTable";
import { EmptyState } from "../../shared/ui/EmptyState";
import { FilterBar, TimeRange } from "../../shared/ui/FilterBar";
import { Listed } from "../../shared/ui/Listed";
import { LoadMore } from "../../shared/ui/LoadMore";
import { SkeletonRows } from "../../shared/ui/SkeletonRows";
import { Time } from "../../shared/ui/Time";
import { AccountTabs } from "./AccountTabs";
import { Breaking } from "./Breaking";
import { type LogEntry, useLog } from "./queries";
import { countFilters, type LogSearch } from "./search";
import { ACTION_OPTIONS, actionWords, detailWords } from "./words";

const OPERATOR = "operator";
const NONE: LogSearch = { actor: undefined, action: undefined, from: undefined, to: undefined };

/** Who did what in the account. */
export function LogPage() {
  const owner = useSession().user.role === "owner";
  return (
    <AccountTabs>
      {owner ? (
        <Log />
      ) : (
        <EmptyState icon={IconHistory} title="Only owners see the log">
          Ask an owner of the account who did what.
        </EmptyState>
      )}
    </AccountTabs>
  );
}

const COLUMNS: Column<LogEntry>[] = [
  {
    header: "Action",
    opens: true,
    cell: ({ action }) => actionWords(action),
    below: (entry) => (
      <Box hiddenFrom="sm">
        <Time value={entry.at} />
        <Target entry={entry} />
      </Box>
    ),
  },
  {
    header: "By",
    cell: ({ actor }) => <Breaking text={actor.kind === "key" ? `Key ${actor.label}` : actor.label} />,
  },
  {
    header: "What",
    from: "sm",
    cell: (entry) => <Target entry={entry} />,
    below: (entry) => <Breaking text={detailWords(entry)} />,
  },
  { header: "Time", from: "sm", quiet: true, cell: ({ at }) => <Time value={at} /> },
];

/** What was changed, unless it is the person who did it. */
function Target({ entry: { target, actor } }: { entry: LogEntry }) {
  return target === actor.label ? null : (
    <div>
      <Breaking text={target} />
    </div>
  );
}

function Log() {
  const search = useSearch({ from: "/signed-in/account/log" });
  const navigate = useNavigate({ from: "/account/log" });
  const log = useLog(search);
  const rows = rowsOf(log.data);
  const change = (part: LogSearch) => void navigate({ search: (before) => ({ ...before, ...part }), replace: true });
  return (
    <Stack gap="md">
      <Filters search={search} onChange={change} />
      <Listed query={log} loading={<SkeletonRows label="Loading the log" rows={6} />}>
        {() =>
          rows.length ? (
            <DataTable label="Log" rows={rows} columns={COLUMNS} />
          ) : (
            <EmptyState icon={IconHistory} title="Nothing fits these filters">
              Remove one of them to see more.
            </EmptyState>
          )
        }
      </Listed>
      <LoadMore query={log} />
    </Stack>
  );
}

type FilterProps = { search: LogSearch; onChange: (part: LogSearch) => void };

function Filters({ search, onChange }: FilterProps) {
  const { data: users = [] } = usePeople();
  const people = [
    ...users.map(({ id, name, email }) => ({ value: id, label: name || email })),
    { value: OPERATOR, label: "Operator" },
  ];
  // A person who was removed, or a key, that a shared address names.
  if (search.actor && !people.some(({ value }) => value === search.actor)) {
    people.push({ value: search.actor, label: search.actor });
  }
  return (
    <FilterBar label="Filter the log" count={countFilters(search)} onClear={() => onChange(NONE)}>
      <Select
        label="Person"
        placeholder="Everyone"
        data={people}
        value={search.actor ?? null}
        onChange={(actor) => onChange({ actor: actor ?? undefined })}
        clearable
        searchable
        flex={{ base: "1 1 100%", xs: "1 1 150px" }}
      />
      <Select
        label="Action"
        placeholder="All"
        data={ACTION_OPTIONS}
        value={search.action ?? null}
        onChange={(action) => onChange({ action: action ?? undefined })}
        clearable
        searchable
        flex={{ base: "1 1 100%", xs: "1 1 150px" }}
      />
      <TimeRange range={search} onChange={onChange} />
    </FilterBar>
  );
}
