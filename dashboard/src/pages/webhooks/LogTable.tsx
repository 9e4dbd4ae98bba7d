import { Box, Text } from "@mantine/core";
import { duration } from "../../shared/times";
import { type Column, DataTable, type Selection } from "../../shared/ui/DataTable";
import { StatusBadge } from "../../shared/ui/StatusBadge";
import { Time } from "../../shared/ui/Time";
import type { Delivery } from "./queries";
import { eventWords, statusLook } from "./words";

const COLUMNS: Column<Delivery>[] = [
  { header: "Status", cell: (row) => <StatusBadge look={statusLook(row)} /> },
  {
    header: "Event",
    opens: true,
    cell: ({ event }) => eventWords(event),
    below: ({ event }) => (
      <Box hiddenFrom="xs">
        <Time value={event.timestamp} />
      </Box>
    ),
  },
  {
    header: "Endpoint",
    from: "md",
    cell: ({ endpoint }) => (
      <Text size="sm" truncate maw={280} title={endpoint.url ?? undefined}>
        {endpoint.url ?? "Deleted endpoint"}
      </Text>
    ),
  },
  { header: "Last answer", from: "sm", cell: (row) => <LastAnswer row={row} /> },
  { header: "Time", from: "xs", quiet: true, cell: ({ event }) => <Time value={event.timestamp} /> },
];

type Props = { rows: Delivery[]; selection?: Selection; onOpen: (id: string) => void };

export function LogTable(props: Props) {
  return <DataTable label="Deliveries" columns={COLUMNS} {...props} />;
}

function LastAnswer({ row }: { row: Delivery }) {
  const last = row.last_attempt;
  if (!last) {
    return (
      <Text size="sm" c="dimmed">
        {row.waiting ?? "Not tried yet"}
      </Text>
    );
  }
  return (
    <Text size="sm" truncate maw={260} title={last.error ?? undefined}>
      {last.status === null ? last.error : `${last.status} in ${duration(last.latency_ms)}`}
      {row.attempt_count > 1 && (
        <Text c="dimmed" span inherit>
          {" "}
          · {row.attempt_count} attempts
        </Text>
      )}
    </Text>
  );
}
