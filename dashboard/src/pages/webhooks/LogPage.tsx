import { Stack } from "@mantine/core";
import { IconListDetails } from "@tabler/icons-react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { rowsOf } from "../../shared/lists";
import { useMayManage } from "../../shared/session/queries";
import { ChannelPage } from "../../shared/ui/ChannelPage";
import { EmptyState } from "../../shared/ui/EmptyState";
import { Listed } from "../../shared/ui/Listed";
import { LoadMore } from "../../shared/ui/LoadMore";
import { SkeletonRows } from "../../shared/ui/SkeletonRows";
import { DeliveryDrawer } from "./DeliveryDrawer";
import { LogFilters } from "./LogFilters";
import { LogTable } from "./LogTable";
import { useDeliveries } from "./queries";
import { SelectionBar } from "./SelectionBar";
import { countFilters, type LogSearch } from "./search";
import { WebhooksTabs } from "./WebhooksTabs";

const MOST = 100; // deliveries that one request can retry

export function LogPage() {
  return (
    <ChannelPage>
      <WebhooksTabs>
        <Log />
      </WebhooksTabs>
    </ChannelPage>
  );
}

function Log() {
  const search = useSearch({ from: "/signed-in/webhooks/log" });
  const navigate = useNavigate({ from: "/webhooks/log" });
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const deliveries = useDeliveries(search);
  const mayManage = useMayManage();
  const rows = rowsOf(deliveries.data);
  const selection = { ids: selected, most: MOST, onChange: setSelected };
  const filter = (part: Partial<LogSearch>) => {
    setSelected(new Set());
    void navigate({ search: (before) => ({ ...before, ...part }), replace: true });
  };
  const open = (delivery?: string) => void navigate({ search: (before) => ({ ...before, delivery }) });
  return (
    <Stack gap="md">
      <LogFilters search={search} onChange={filter} />
      <Listed query={deliveries} loading={<SkeletonRows label="Loading deliveries" rows={6} height={52} />}>
        {() =>
          rows.length ? (
            <LogTable rows={rows} selection={mayManage ? selection : undefined} onOpen={open} />
          ) : (
            !deliveries.hasNextPage && <Nothing filtered={countFilters(search) > 0} />
          )
        }
      </Listed>
      <LoadMore query={deliveries} />
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
