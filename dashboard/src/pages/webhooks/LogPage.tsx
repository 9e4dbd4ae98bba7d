import { Button, Center, Skeleton, Stack } from "@mantine/core";
import { IconListDetails } from "@tabler/icons-react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useMayManage } from "../../shared/session/queries";
import { ChannelPage } from "../../shared/ui/ChannelPage";
import { EmptyState } from "../../shared/ui/EmptyState";
import { Failure } from "../../shared/ui/Failure";
import { DeliveryDrawer } from "./DeliveryDrawer";
import { LogFilters } from "./LogFilters";
import { LogTable } from "./LogTable";
import { useDeliveries } from "./queries";
import { SelectionBar } from "./SelectionBar";
import { countFilters, type LogSearch } from "./search";
import { WebhooksHeader } from "./WebhooksHeader";

export function LogPage() {
  return (
    <ChannelPage>
      <WebhooksHeader tab="log">
        <Log />
      </WebhooksHeader>
    </ChannelPage>
  );
}

function Log() {
  const search = useSearch({ from: "/signed-in/webhooks/log" });
  const navigate = useNavigate({ from: "/webhooks/log" });
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const deliveries = useDeliveries(search);
  const mayManage = useMayManage();
  const rows = deliveries.data?.pages.flatMap((page) => page.items) ?? [];
  const filter = (part: Partial<LogSearch>) => {
    setSelected(new Set());
    void navigate({ search: (before) => ({ ...before, ...part }), replace: true });
  };
  const open = (delivery?: string) => void navigate({ search: (before) => ({ ...before, delivery }) });
  return (
    <Stack gap="md">
      <LogFilters search={search} onChange={filter} />
      {deliveries.isPending && <Loading />}
      {deliveries.isError && !deliveries.data && (
        <Failure error={deliveries.error} onRetry={() => void deliveries.refetch()} />
      )}
      {deliveries.data && rows.length === 0 && !deliveries.hasNextPage && (
        <Nothing filtered={countFilters(search) > 0} />
      )}
      {rows.length > 0 && (
        <LogTable rows={rows} selected={selected} selectable={mayManage} onSelect={setSelected} onOpen={open} />
      )}
      {deliveries.hasNextPage && (
        <Center>
          <Button
            variant="default"
            loading={deliveries.isFetchingNextPage}
            onClick={() => void deliveries.fetchNextPage()}
          >
            Show older ones
          </Button>
        </Center>
      )}
      <SelectionBar selected={selected} onDone={() => setSelected(new Set())} />
      <DeliveryDrawer delivery={search.delivery} onClose={() => open(undefined)} />
    </Stack>
  );
}

function Nothing({ filtered }: { filtered: boolean }) {
  return filtered ? (
    <EmptyState icon={IconListDetails} title="Nothing fits these filters">
      Remove one of them to see more.
    </EmptyState>
  ) : (
    <EmptyState icon={IconListDetails} title="No deliveries yet">
      Each event that is sent to an endpoint appears here, with the request and your server's answer. Send a message to
      see the first.
    </EmptyState>
  );
}

function Loading() {
  return (
    <Stack gap="xs" role="status" aria-label="Loading deliveries">
      {[0, 1, 2, 3, 4, 5].map((row) => (
        <Skeleton key={row} height={52} radius={8} />
      ))}
    </Stack>
  );
}
