import { Badge, Box, Table, Text, UnstyledButton } from "@mantine/core";
import { Time } from "../../shared/ui/Time";
import classes from "./OrderTable.module.css";
import type { Order } from "./queries";
import { countItems, money, statusLook } from "./words";

type Props = { rows: Order[]; onOpen: (order: string) => void };

export function OrderTable({ rows, onOpen }: Props) {
  return (
    <Box className="surface" style={{ overflow: "hidden" }}>
      <Table highlightOnHover verticalSpacing="sm" horizontalSpacing="md" className={classes.table}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Person</Table.Th>
            <Table.Th className={classes.small}>Items</Table.Th>
            <Table.Th ta="right">Total</Table.Th>
            <Table.Th>Status</Table.Th>
            <Table.Th className={classes.medium}>Time</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((order) => (
            <Row key={order.id} order={order} onOpen={() => onOpen(order.id)} />
          ))}
        </Table.Tbody>
      </Table>
    </Box>
  );
}

function Row({ order, onOpen }: { order: Order; onOpen: () => void }) {
  const look = statusLook(order.status);
  return (
    <Table.Tr className={classes.row} onClick={onOpen}>
      <Table.Td className={classes.person}>
        <UnstyledButton className={classes.open} onClick={onOpen}>
          <Text size="sm" fw={600} truncate>
            {personOf(order)}
          </Text>
        </UnstyledButton>
      </Table.Td>
      <Table.Td className={classes.small}>
        <Text size="sm">{countItems(order.items)}</Text>
      </Table.Td>
      <Table.Td ta="right">
        <Text size="sm" fw={600} className={classes.amount}>
          {money(order.total, order.currency)}
        </Text>
      </Table.Td>
      <Table.Td>
        <Badge variant="light" color={look.color}>
          {look.label}
        </Badge>
      </Table.Td>
      <Table.Td className={`${classes.time} ${classes.medium}`}>
        <Time value={order.created_at} />
      </Table.Td>
    </Table.Tr>
  );
}

export function personOf({ contact }: Pick<Order, "contact">): string {
  return contact.name || (contact.phone ? `+${contact.phone}` : "Unknown person");
}
