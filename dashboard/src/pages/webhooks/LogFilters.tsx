import { MultiSelect, Pill, Select } from "@mantine/core";
import { FilterBar, TimeRange } from "../../shared/ui/FilterBar";
import { useEndpoints } from "./queries";
import { countFilters, type LogSearch } from "./search";
import { EVENT_TYPES, HTTP, type HttpClass, httpLabel, STATUSES, type Status, statusLabel } from "./words";

const REMOVE = { "aria-label": "Show the deliveries of all messages", "aria-hidden": false, tabIndex: 0 };
const NONE: Partial<LogSearch> = {
  endpoint: undefined,
  status: undefined,
  type: undefined,
  http: undefined,
  message: undefined,
  from: undefined,
  to: undefined,
};

type Props = { search: LogSearch; onChange: (part: Partial<LogSearch>) => void };

export function LogFilters({ search, onChange }: Props) {
  const { data: endpoints } = useEndpoints();
  return (
    <FilterBar label="Filter the deliveries" count={countFilters(search)} onClear={() => onChange(NONE)}>
      <Select
        label="Endpoint"
        placeholder="All"
        data={endpoints?.map(({ id, url }) => ({ value: id, label: url })) ?? []}
        value={search.endpoint ?? null}
        onChange={(endpoint) => onChange({ endpoint: endpoint ?? undefined })}
        clearable
        flex={{ base: "1 1 100%", xs: "1 1 150px" }}
      />
      <MultiSelect
        label="Status"
        placeholder={search.status ? undefined : "All"}
        data={STATUSES.map((status) => ({ value: status, label: statusLabel(status) }))}
        value={search.status ?? []}
        onChange={(status) => onChange({ status: status.length ? (status as Status[]) : undefined })}
        clearable
        flex={{ base: "1 1 100%", xs: "1 1 110px" }}
      />
      <MultiSelect
        label="Event"
        placeholder={search.type ? undefined : "All"}
        data={EVENT_TYPES.map(({ type, label }) => ({ value: type, label }))}
        value={search.type ?? []}
        onChange={(type) => onChange({ type: type.length ? type : undefined })}
        clearable
        flex={{ base: "1 1 100%", xs: "1 1 110px" }}
      />
      <MultiSelect
        label="Answer"
        placeholder={search.http ? undefined : "All"}
        data={HTTP.map((http) => ({ value: http, label: httpLabel(http) }))}
        value={search.http ?? []}
        onChange={(http) => onChange({ http: http.length ? (http as HttpClass[]) : undefined })}
        clearable
        flex={{ base: "1 1 100%", xs: "1 1 100px" }}
      />
      <TimeRange range={search} onChange={onChange} />
      {search.message && (
        <Pill withRemoveButton onRemove={() => onChange({ message: undefined })} removeButtonProps={REMOVE} size="lg">
          Message {search.message.slice(0, 8)}…
        </Pill>
      )}
    </FilterBar>
  );
}
