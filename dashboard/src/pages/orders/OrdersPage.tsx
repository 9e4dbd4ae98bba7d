import { Select, Stack } from "@mantine/core";
import { IconShoppingCart } from "@tabler/icons-react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { rowsOf } from "../../shared/lists";
import { ChannelPage } from "../../shared/ui/ChannelPage";
import { DateField } from "../../shared/ui/DateField";
import { EmptyState } from "../../shared/ui/EmptyState";
import { FilterBar } from "../../shared/ui/FilterBar";
import { Listed } from "../../shared/ui/Listed";
import { LoadMore } from "../../shared/ui/LoadMore";
import { PageHeader } from "../../shared/ui/PageHeader";
import { SkeletonRows } from "../../shared/ui/SkeletonRows";
import { OrderDrawer } from "./OrderDrawer";
import { OrderTable } from "./OrderTable";
import { useOrders } from "./queries";
import { countFilters, type OrderSearch } from "./search";
import { STATUSES, type Status, statusLook } from "./words";

export function OrdersPage() {
  return (
    <ChannelPage>
      <PageHeader title="Orders">What people ordered from your catalogue in a chat.</PageHeader>
      <Orders />
    </ChannelPage>
  );
}

function Orders() {
  const search = useSearch({ from: "/signed-in/orders" });
  const navigate = useNavigate({ from: "/orders" });
  const orders = useOrders(search);
  const rows = rowsOf(orders.data);
  const filter = (part: Partial<OrderSearch>) =>
    void navigate({ search: (before) => ({ ...before, ...part }), replace: true });
  const open = (order?: string) => void navigate({ search: (before) => ({ ...before, order }) });
  return (
    <Stack gap="md">
      <Filters search={search} onChange={filter} />
      <Listed query={orders} loading={<SkeletonRows label="Loading orders" />}>
        {() =>
          rows.length ? <OrderTable rows={rows} onOpen={open} /> : <Nothing filtered={countFilters(search) > 0} />
        }
      </Listed>
      <LoadMore query={orders} />
      <OrderDrawer order={search.order} onClose={() => open(undefined)} />
    </Stack>
  );
}

type FilterProps = { search: OrderSearch; onChange: (part: Partial<OrderSearch>) => void };

function Filters({ search, onChange }: FilterProps) {
  return (
    <FilterBar
      label="Filter the orders"
      count={countFilters(search)}
      onClear={() => onChange({ status: undefined, from: undefined, to: undefined })}
    >
      <Select
        label="Status"
        placeholder="All"
        data={STATUSES.map((status) => ({ value: status, label: statusLook(status).label }))}
        value={search.status ?? null}
        onChange={(status) => onChange({ status: (status as Status | null) ?? undefined })}
        clearable
        w={{ base: "100%", xs: 170 }}
      />
      <DateField
        label="From"
        type="date"
        value={search.from ?? ""}
        onChange={(day) => onChange({ from: day || undefined })}
        flex={{ base: "1 1 130px", xs: "0 0 160px" }}
      />
      <DateField
        label="To"
        type="date"
        value={search.to ?? ""}
        onChange={(day) => onChange({ to: day || undefined })}
        flex={{ base: "1 1 130px", xs: "0 0 160px" }}
      />
    </FilterBar>
  );
}

function Nothing({ filtered }: { filtered: boolean }) {
  return filtered ? (
    <EmptyState icon={IconShoppingCart} title="No order fits these filters">
      Remove one of them to see more.
    </EmptyState>
  ) : (
    <EmptyState icon={IconShoppingCart} title="No orders yet">
      When a person sends a basket from your catalogue, the order appears here. Send your catalogue or products in a
      conversation to get the first.
    </EmptyState>
  );
}
