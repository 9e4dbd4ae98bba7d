import { Group, Select } from "@mantine/core";
import { useLabels } from "../../shared/labels";
import { SearchField } from "../../shared/ui/SearchField";
import type { ContactSearch } from "./search";

type Props = { search: ContactSearch; onChange: (part: Partial<ContactSearch>) => void };

export function ContactFilters({ search, onChange }: Props) {
  const { data: labels } = useLabels();
  return (
    <Group gap="sm" role="search" aria-label="Search the contacts">
      <SearchField
        label="Name or number"
        placeholder="Name or number"
        value={search.q}
        onChange={(q) => onChange({ q })}
        flex={{ base: "1 1 100%", xs: "1 1 200px" }}
      />
      <Select
        aria-label="Label"
        placeholder="Any label"
        data={labels?.map(({ id, name }) => ({ value: id, label: name })) ?? []}
        value={search.label ?? null}
        onChange={(label) => onChange({ label: label ?? undefined })}
        nothingFoundMessage="No such label"
        searchable
        clearable
        flex={{ base: "1 1 130px", xs: "0 0 180px" }}
      />
      <Select
        aria-label="Marketing"
        placeholder="Everybody"
        data={[
          { value: "true", label: "Opted out" },
          { value: "false", label: "Not opted out" },
        ]}
        value={search.opted_out ?? null}
        onChange={(value) => onChange({ opted_out: (value as ContactSearch["opted_out"] | null) ?? undefined })}
        clearable
        flex={{ base: "1 1 130px", xs: "0 0 170px" }}
      />
    </Group>
  );
}
