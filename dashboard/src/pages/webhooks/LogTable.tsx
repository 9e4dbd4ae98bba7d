import { Badge, Box, Checkbox, Table, Text, UnstyledButton } from "@mantine/core";
import { duration } from "../../shared/times";
import { Time } from "../../shared/ui/Time";
import classes from "./LogTable.module.css";
import type { Delivery } from "./queries";
import { eventWords, statusLook } from "./words";

const MOST = 100; // deliveries that one request can retry

type Props = {
  rows: Delivery[];
  selected: ReadonlySet<string>;
  selectable: boolean;
  onSelect: (selected: ReadonlySet<string>) => void;
  onOpen: (id: string) => void;
};

/** The deliveries as a table. On a small screen only the most important columns are shown. */
export function LogTable({ rows, selected, selectable, onSelect, onOpen }: Props) {
  const shown = rows.slice(0, MOST).map((row) => row.id);
  const all = shown.length > 0 && shown.every((id) => selected.has(id));
  const toggle = (id: string, on: boolean) => {
    const next = new Set(selected);
    if (on) next.add(id);
    else next.delete(id);
    onSelect(next);
  };
  return (
    <Box className="surface" style={{ overflow: "hidden" }}>
      <Table highlightOnHover verticalSpacing="sm" horizontalSpacing="md" className={classes.table}>
        <Table.Thead>
          <Table.Tr>
            {selectable && (
              <Table.Th w={44}>
                <Checkbox
                  aria-label="Select all"
                  checked={all}
                  indeterminate={!all && selected.size > 0}
                  onChange={() => onSelect(new Set(all ? [] : shown))}
                />
              </Table.Th>
            )}
            <Table.Th>Status</Table.Th>
            <Table.Th>Event</Table.Th>
            <Table.Th className={classes.wide}>Endpoint</Table.Th>
            <Table.Th className={classes.medium}>Last answer</Table.Th>
            <Table.Th className={classes.small}>Time</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Row
              key={row.id}
              row={row}
              selected={selected.has(row.id)}
              onSelect={selectable ? (on) => toggle(row.id, on) : null}
              onOpen={() => onOpen(row.id)}
            />
          ))}
        </Table.Tbody>
      </Table>
    </Box>
  );
}

type RowProps = { row: Delivery; selected: boolean; onSelect: ((on: boolean) => void) | null; onOpen: () => void };

function Row({ row, selected, onSelect, onOpen }: RowProps) {
  const look = statusLook(row);
  return (
    <Table.Tr className={classes.row} onClick={onOpen} data-delivery={row.id}>
      {onSelect && (
        <Table.Td onClick={(event) => event.stopPropagation()}>
          <Checkbox
            aria-label={`Select ${row.event.id}`}
            checked={selected}
            onChange={(event) => onSelect(event.currentTarget.checked)}
          />
        </Table.Td>
      )}
      <Table.Td>
        <Badge variant="light" color={look.color}>
          {look.label}
        </Badge>
      </Table.Td>
      <Table.Td>
        <UnstyledButton className={classes.open} onClick={onOpen}>
          <Text size="sm" fw={600} span>
            {eventWords(row.event)}
          </Text>
        </UnstyledButton>
        <Text size="xs" c="dimmed" className={classes.narrow}>
          <Time value={row.event.timestamp} />
        </Text>
      </Table.Td>
      <Table.Td className={classes.wide}>
        <Text size="sm" truncate maw={280} title={row.endpoint.url ?? undefined}>
          {row.endpoint.url ?? "Deleted endpoint"}
        </Text>
      </Table.Td>
      <Table.Td className={classes.medium}>
        <LastAnswer row={row} />
      </Table.Td>
      <Table.Td className={`${classes.time} ${classes.small}`}>
        <Time value={row.event.timestamp} />
      </Table.Td>
    </Table.Tr>
  );
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
