import { Box, Button, Group, MultiSelect, Pill, Select, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconFilter, IconX } from "@tabler/icons-react";
import { fromLocalInput, toLocalInput } from "../../shared/times";
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

/** The filters; on a small screen they are behind a button. */
export function LogFilters({ search, onChange }: Props) {
  const [opened, { toggle }] = useDisclosure();
  const count = countFilters(search);
  return (
    <>
      <Button
        hiddenFrom="xs"
        variant="default"
        leftSection={<IconFilter size={16} aria-hidden />}
        aria-expanded={opened}
        onClick={toggle}
      >
        {count ? `Filters (${count})` : "Filters"}
      </Button>
      <Box visibleFrom={opened ? undefined : "xs"}>
        <Fields search={search} onChange={onChange} />
      </Box>
    </>
  );
}

function Fields({ search, onChange }: Props) {
  const { data: endpoints } = useEndpoints();
  const time = (value: string | undefined) => (value ? toLocalInput(new Date(value)) : "");
  return (
    <Group gap="sm" align="flex-end" role="search" aria-label="Filter the deliveries">
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
      <TextInput
        label="From"
        type="datetime-local"
        flex={{ base: "1 1 100%", xs: "0 1 176px" }}
        value={time(search.from)}
        onChange={(event) => onChange({ from: fromLocalInput(event.currentTarget.value) })}
      />
      <TextInput
        label="To"
        type="datetime-local"
        flex={{ base: "1 1 100%", xs: "0 1 176px" }}
        value={time(search.to)}
        onChange={(event) => onChange({ to: fromLocalInput(event.currentTarget.value) })}
      />
      {search.message && (
        <Pill withRemoveButton onRemove={() => onChange({ message: undefined })} removeButtonProps={REMOVE} size="lg">
          Message {search.message.slice(0, 8)}…
        </Pill>
      )}
      {countFilters(search) > 0 && (
        <Button
          variant="subtle"
          color="gray"
          leftSection={<IconX size={14} aria-hidden />}
          onClick={() => onChange(NONE)}
        >
          Clear
        </Button>
      )}
    </Group>
  );
}
