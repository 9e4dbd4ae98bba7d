import { Box, Button, Group } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconFilter, IconX } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { fromLocalInput, toLocalInput } from "../times";
import { DateField } from "./DateField";

type Props = { label: string; count: number; onClear: () => void; children: ReactNode };

/** The filters of a list, and a way to remove them all; on a small screen they are behind a button. */
export function FilterBar({ label, count, onClear, children }: Props) {
  const [opened, { toggle }] = useDisclosure();
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
        <Group gap="sm" align="flex-end" role="search" aria-label={label}>
          {children}
          {count > 0 && (
            <Button variant="subtle" color="gray" leftSection={<IconX size={14} aria-hidden />} onClick={onClear}>
              Clear
            </Button>
          )}
        </Group>
      </Box>
    </>
  );
}

type Range = { from?: string; to?: string };

/** The filter by time, in the viewer's time zone. */
export function TimeRange({ range, onChange }: { range: Range; onChange: (part: Range) => void }) {
  const input = (name: keyof Range, label: string) => (
    <DateField
      label={label}
      type="datetime-local"
      flex={{ base: "1 1 100%", xs: "0 1 176px" }}
      value={range[name] ? toLocalInput(new Date(range[name])) : ""}
      onChange={(time) => onChange({ [name]: fromLocalInput(time) })}
    />
  );
  return (
    <>
      {input("from", "From")}
      {input("to", "To")}
    </>
  );
}
