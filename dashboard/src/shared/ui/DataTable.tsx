import { Box, Checkbox, Table, Text, UnstyledButton, VisuallyHidden } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./DataTable.module.css";

export type Column<Row> = {
  header: string;
  cell: (row: Row) => ReactNode;
  below?: (row: Row) => ReactNode; // a second line
  opens?: boolean; // its cell is the button that opens the row
  grows?: boolean; // gets the width that is left, and cuts its text off; on a phone, it takes several lines
  quiet?: boolean; // for times and the like: in grey, on one line
  from?: "xs" | "sm" | "md"; // not shown on screens that are smaller
  align?: "right";
};

export type Selection = {
  ids: ReadonlySet<string>;
  most: number; // that one request can take
  onChange: (ids: ReadonlySet<string>) => void;
};

type Props<Row> = {
  label: string; // what the rows are, for screen readers: "Orders"
  rows: Row[];
  columns: Column<Row>[];
  onOpen?: (id: string) => void;
  actions?: (row: Row) => ReactNode; // at the end of each row, e.g. an ActionMenu
  selection?: Selection;
};

/** A list as a table. On a small screen only the most important columns are shown. */
export function DataTable<Row extends { id: string }>({
  label,
  rows,
  columns,
  onOpen,
  actions,
  selection,
}: Props<Row>) {
  return (
    <Box className="surface" style={{ overflow: "auto hidden" }}>
      <Table
        highlightOnHover={Boolean(onOpen)}
        verticalSpacing="sm"
        horizontalSpacing="md"
        className={classes.table}
        aria-label={label}
      >
        <Table.Thead>
          <Table.Tr>
            {selection && <SelectAll rows={rows} selection={selection} />}
            {columns.map(({ header, from, align }) => (
              <Table.Th key={header} visibleFrom={from} ta={align}>
                {header}
              </Table.Th>
            ))}
            {actions && (
              <Table.Th w={56}>
                <VisuallyHidden>Actions</VisuallyHidden>
              </Table.Th>
            )}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={row.id} className={onOpen && classes.row} onClick={onOpen && (() => onOpen(row.id))}>
              {selection && <SelectOne id={row.id} selection={selection} />}
              {columns.map((column) => (
                <Cell key={column.header} row={row} column={column} openable={Boolean(onOpen)} />
              ))}
              {actions && (
                <Table.Td onClick={(event) => event.stopPropagation()} ta="right" py={4}>
                  {actions(row)}
                </Table.Td>
              )}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Box>
  );
}

type CellProps<Row> = { row: Row; column: Column<Row>; openable: boolean };

function Cell<Row>({ row, column, openable }: CellProps<Row>) {
  const { cell, below, opens, grows, quiet, from, align } = column;
  const look = [grows && classes.grows, quiet && classes.quiet].filter(Boolean).join(" ");
  const content = opens ? (
    <Text size="sm" fw={600} truncate={grows} span={!grows}>
      {cell(row)}
    </Text>
  ) : (
    cell(row)
  );
  return (
    <Table.Td visibleFrom={from} ta={align} className={look} fz="sm">
      {opens && openable ? (
        <UnstyledButton className={classes.open}>{content}</UnstyledButton> // its click is one of the row
      ) : (
        content
      )}
      {below && (
        <Text size="xs" c="dimmed" component="div">
          {below(row)}
        </Text>
      )}
    </Table.Td>
  );
}

function SelectAll({ rows, selection: { ids, most, onChange } }: { rows: { id: string }[]; selection: Selection }) {
  const shown = rows.slice(0, most).map((row) => row.id);
  const all = shown.length > 0 && shown.every((id) => ids.has(id));
  return (
    <Table.Th w={44}>
      <Checkbox
        aria-label="Select all"
        checked={all}
        indeterminate={!all && ids.size > 0}
        onChange={() => onChange(new Set(all ? [] : shown))}
      />
    </Table.Th>
  );
}

function SelectOne({ id, selection: { ids, onChange } }: { id: string; selection: Selection }) {
  const toggle = (on: boolean) => {
    const next = new Set(ids);
    if (on) next.add(id);
    else next.delete(id);
    onChange(next);
  };
  return (
    <Table.Td onClick={(event) => event.stopPropagation()}>
      <Checkbox
        aria-label={`Select ${id}`}
        checked={ids.has(id)}
        onChange={(event) => toggle(event.currentTarget.checked)}
      />
    </Table.Td>
  );
}
