import { CloseButton, Group, Select, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { useState } from "react";
import { useLabels } from "../../shared/labels";
import type { ContactSearch } from "./search";

const TYPING_MS = 250;

type Props = { search: ContactSearch; onChange: (part: Partial<ContactSearch>) => void };

export function ContactFilters({ search, onChange }: Props) {
  const { data: labels } = useLabels();
  const [words, setWords] = useState(search.q ?? "");
  const later = useDebouncedCallback((q: string) => onChange({ q: q.trim() || undefined }), TYPING_MS);
  const type = (text: string) => {
    setWords(text);
    later(text);
  };
  return (
    <Group gap="sm" role="search" aria-label="Search the contacts">
      <TextInput
        aria-label="Name or number"
        placeholder="Name or number"
        leftSection={<IconSearch size={16} aria-hidden />}
        rightSection={words && <CloseButton aria-label="Clear the search" onClick={() => type("")} />}
        value={words}
        onChange={(event) => type(event.currentTarget.value)}
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
