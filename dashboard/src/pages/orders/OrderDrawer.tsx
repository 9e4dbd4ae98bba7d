import { Box, Button, Group, Skeleton, Stack, Table, Text } from "@mantine/core";
import { useState } from "react";
import { onFirstClick } from "../../shared/clicks";
import { money } from "../../shared/money";
import { perform } from "../../shared/mutations";
import { useMayWork } from "../../shared/session/queries";
import { inFull } from "../../shared/times";
import { TraceLink } from "../../shared/trace/TraceLink";
import { ConfirmDialog } from "../../shared/ui/ConfirmDialog";
import { Loaded } from "../../shared/ui/Loaded";
import { showDone, showFailure } from "../../shared/ui/notices";
import { OpenConversation } from "../../shared/ui/OpenConversation";
import { SidePanel } from "../../shared/ui/SidePanel";
import { StatusBadge } from "../../shared/ui/StatusBadge";
import { visibleName } from "../../shared/visibleName";
import { personOf } from "./OrderTable";
import { type Order, type OrderItem, useChangeOrder, useOrder } from "./queries";
import { lineTotal, nextStatuses, type Status, statusLook } from "./words";

type Props = { order: string | undefined; onClose: () => void };

/** One order with its items. */
export function OrderDrawer({ order, onClose }: Props) {
  return (
    <SidePanel title="Order" id={order} size="lg" onClose={onClose}>
      {(id) => <Details id={id} />}
    </SidePanel>
  );
}

function Details({ id }: { id: string }) {
  return (
    <Loaded query={useOrder(id)} loading={<Skeleton height={320} aria-label="Loading the order" />}>
      {(order) => <Shown order={order} />}
    </Loaded>
  );
}

function Shown({ order }: { order: Order }) {
  const mayWork = useMayWork();
  return (
    <Stack gap="lg">
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Box miw={0}>
          <Text fw={650} size="lg" style={{ overflowWrap: "anywhere" }}>
            {personOf(order)}
          </Text>
          {visibleName(order.contact.name) && order.contact.phone && <Text c="dimmed">+{order.contact.phone}</Text>}
        </Box>
        <StatusBadge look={statusLook(order.status)} size="lg" />
      </Group>
      {order.note && (
        <Text className="surface" p="md" style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
          {order.note}
        </Text>
      )}
      <Items order={order} />
      <OpenConversation id={order.conversation.id} />
      {mayWork && <Steps order={order} />}
      <TraceLink message={order.message} />
      <Text size="xs" c="dimmed" style={{ overflowWrap: "anywhere" }}>
        Ordered on {inFull(order.created_at)}.{order.updated_at && ` Last changed on ${inFull(order.updated_at)}.`}
        {order.catalog_id && ` Catalogue ${order.catalog_id}.`}
      </Text>
    </Stack>
  );
}

function Items({ order }: { order: Order }) {
  return (
    <Table>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Product</Table.Th>
          <Table.Th ta="right">Quantity</Table.Th>
          <Table.Th ta="right">Price</Table.Th>
          <Table.Th ta="right">Sum</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {order.items.map((item, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: an order may have the same product twice, and never changes
          <ItemRow key={i} item={item} currency={order.currency} />
        ))}
      </Table.Tbody>
      <Table.Tfoot>
        <Table.Tr>
          <Table.Th colSpan={3}>Total</Table.Th>
          <Table.Th ta="right">{money(order.total, order.currency)}</Table.Th>
        </Table.Tr>
      </Table.Tfoot>
    </Table>
  );
}

function ItemRow({ item, currency }: { item: OrderItem; currency: string | null }) {
  const own = item.currency ?? currency;
  return (
    <Table.Tr>
      <Table.Td style={{ overflowWrap: "anywhere" }}>{item.retailer_id}</Table.Td>
      <Table.Td ta="right">{item.quantity.toLocaleString()}</Table.Td>
      <Table.Td ta="right">{money(item.price, own)}</Table.Td>
      <Table.Td ta="right">{money(lineTotal(item.price, item.quantity), own)}</Table.Td>
    </Table.Tr>
  );
}

/** What can be done next; the usual step first. */
function Steps({ order }: { order: Order }) {
  const [canceling, setCanceling] = useState(false);
  const change = useChangeOrder(order.id);
  const next = nextStatuses(order.status);
  const set = (status: Status) =>
    perform(change, status, {
      onSuccess: () => {
        setCanceling(false);
        showDone(`The order is ${statusLook(status).label.toLowerCase()}.`);
      },
      onError: (error) => status !== "canceled" && showFailure(error),
    });
  if (next.length === 0) return null;
  return (
    <Group gap="sm">
      {next.map((status, i) => (
        <Button
          key={status}
          variant={i === 0 ? "filled" : status === "canceled" ? "subtle" : "default"}
          color={status === "canceled" ? "red" : undefined}
          loading={change.isPending && change.variables === status}
          onClick={onFirstClick(() => (status === "canceled" ? setCanceling(true) : set(status)))}
        >
          {statusLook(status).action}
        </Button>
      ))}
      <ConfirmDialog
        title="Cancel the order"
        action="Cancel the order"
        opened={canceling}
        busy={change.isPending}
        error={change.error}
        onConfirm={() => set("canceled")}
        onClose={() => setCanceling(false)}
      >
        This cannot be undone. The person is not told: write a message.
      </ConfirmDialog>
    </Group>
  );
}
