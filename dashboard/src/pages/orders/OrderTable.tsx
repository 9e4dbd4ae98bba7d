import { Text } from "@mantine/core";
import { money } from "../../shared/money";
import { type Column, DataTable } from "../../shared/ui/DataTable";
import { StatusBadge } from "../../shared/ui/StatusBadge";
import { Time } from "../../shared/ui/Time";
import { visibleName } from "../../shared/visibleName";
import type { Order } from "./queries";
import { countItems, statusLook } from "./words";

const COLUMNS: Column<Order>[] = [
  { header: "Person", opens: true, grows: true, cell: personOf },
  { header: "Items", from: "xs", cell: ({ items }) => countItems(items) },
  {
    header: "Total",
    align: "right",
    cell: ({ total, currency }) => (
      <Text size="sm" fw={600} style={{ whiteSpace: "nowrap", fontVariantNumeric: "tabular-nums" }}>
        {money(total, currency)}
      </Text>
    ),
  },
  { header: "Status", cell: ({ status }) => <StatusBadge look={statusLook(status)} /> },
  { header: "Time", from: "sm", quiet: true, cell: ({ created_at }) => <Time value={created_at} /> },
];

export function OrderTable(props: { rows: Order[]; onOpen: (order: string) => void }) {
  return <DataTable label="Orders" columns={COLUMNS} {...props} />;
}

export function personOf({ contact }: Pick<Order, "contact">): string {
  return visibleName(contact.name) || (contact.phone ? `+${contact.phone}` : "Unknown person");
}
