import { Anchor, Button, Group, Select, Stack, Text } from "@mantine/core";
import { IconCircleCheck, IconTerminal2 } from "@tabler/icons-react";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { rowsOf } from "../../shared/lists";
import { inFull } from "../../shared/times";
import { ChannelPage } from "../../shared/ui/ChannelPage";
import { CopyField } from "../../shared/ui/CopyField";
import { type Column, DataTable } from "../../shared/ui/DataTable";
import { EmptyState } from "../../shared/ui/EmptyState";
import { Listed } from "../../shared/ui/Listed";
import { LoadMore } from "../../shared/ui/LoadMore";
import { SidePanel } from "../../shared/ui/SidePanel";
import { SkeletonRows } from "../../shared/ui/SkeletonRows";
import { StatusBadge } from "../../shared/ui/StatusBadge";
import { Time } from "../../shared/ui/Time";
import { DevelopersTabs } from "./DevelopersTabs";
import { type ApiKey, type RefusedRequest, useKeys, useRefused } from "./queries";
import type { RefusedSearch } from "./search";
import { statusLook } from "./words";

export function RefusedPage() {
  return (
    <ChannelPage>
      <DevelopersTabs>
        <Refused />
      </DevelopersTabs>
    </ChannelPage>
  );
}

type Row = RefusedRequest & { id: string };

function Refused() {
  const search = useSearch({ from: "/signed-in/developers/refused" });
  const navigate = useNavigate({ from: "/developers/refused" });
  const keys = useKeys();
  const refused = useRefused(search.key);
  const change = (part: Partial<RefusedSearch>, replace = false) =>
    void navigate({ search: (before) => ({ ...before, ...part }), replace });
  return (
    <Stack gap="md">
      <KeyFilter keys={keys.data ?? []} chosen={search.key} onChoose={(key) => change({ key }, true)} />
      <Listed query={refused} loading={<SkeletonRows label="Loading refused requests" />}>
        {(data) => {
          const rows = rowsOf(data).map((row) => ({ ...row, id: row.request_id }));
          const open = rows.find((row) => row.id === search.request);
          return rows.length ? (
            <>
              <DataTable
                label="Refused requests"
                rows={rows}
                columns={columnsOf(keys.data ?? [])}
                onOpen={(request) => change({ request })}
              />
              <SidePanel title="Refused request" id={open?.id} onClose={() => change({ request: undefined })}>
                {() => open && <Details row={open} name={nameOf(keys.data ?? [], open.key)} />}
              </SidePanel>
            </>
          ) : (
            <EmptyState icon={IconCircleCheck} title="No refused requests">
              Requests with a key of this channel that get an error appear here for a day, within a few seconds.
            </EmptyState>
          );
        }}
      </Listed>
      <LoadMore query={refused} />
    </Stack>
  );
}

type FilterProps = { keys: ApiKey[]; chosen: string | undefined; onChoose: (key: string | undefined) => void };

function KeyFilter({ keys, chosen, onChoose }: FilterProps) {
  return (
    <Group justify="space-between">
      <Select
        aria-label="Key"
        placeholder="All keys"
        data={keys.map((key) => ({ value: key.id, label: `${key.name} (${key.hint}…)` }))}
        value={chosen ?? null}
        onChange={(value) => onChoose(value ?? undefined)}
        clearable
        w={{ base: "100%", xs: 280 }}
      />
      <Text size="sm" c="dimmed">
        Of the last 24 hours, without bodies
      </Text>
    </Group>
  );
}

function nameOf(keys: ApiKey[], id: string): string {
  return keys.find((key) => key.id === id)?.name ?? id;
}

function columnsOf(keys: ApiKey[]): Column<Row>[] {
  return [
    { header: "Status", cell: (row) => <StatusBadge look={statusLook(row.status)} /> },
    {
      header: "Request",
      cell: (row) => (
        <span style={{ overflowWrap: "anywhere" }}>
          {row.method} {row.path}
        </span>
      ),
      below: (row) => row.message,
      opens: true,
    },
    { header: "Error", cell: (row) => <code>{row.code}</code>, from: "md" },
    { header: "Key", cell: (row) => nameOf(keys, row.key), from: "sm" },
    { header: "Times", cell: (row) => row.count, align: "right", from: "sm" },
    { header: "Last", cell: (row) => <Time value={row.at} />, quiet: true, from: "xs" },
  ];
}

function Details({ row, name }: { row: Row; name: string }) {
  return (
    <Stack>
      <Group gap="sm">
        <StatusBadge look={statusLook(row.status)} size="lg" />
        <Text fw={600} style={{ overflowWrap: "anywhere" }}>
          {row.method} {row.path}
        </Text>
      </Group>
      <Text style={{ overflowWrap: "anywhere" }}>{row.message}</Text>
      <Text size="sm">
        <Anchor
          href={`/docs/reference/errors#${row.code}`}
          target="_blank"
          rel="noopener"
          inherit
          underline="always"
          ff="monospace"
        >
          {row.code}
        </Anchor>
        {row.field && (
          <>
            {" "}
            at <code>{row.field}</code>
          </>
        )}
      </Text>
      <Text size="sm" c="dimmed">
        With the key “{name}”, {row.count === 1 ? "once" : `${row.count.toLocaleString()} times within a minute`},{" "}
        {inFull(row.at)}
      </Text>
      <Stack gap={4}>
        <Text size="sm" fw={600}>
          {row.count === 1 ? "Request id" : "Id of the last request"}
        </Text>
        <CopyField label="Request id" value={row.request_id} />
      </Stack>
      <Group>
        <Button
          renderRoot={(props) => (
            <Link to="/developers/console" search={{ operation: `${row.method} ${row.path}` }} {...props} />
          )}
          variant="default"
          leftSection={<IconTerminal2 size={16} aria-hidden />}
        >
          Open in the console
        </Button>
      </Group>
    </Stack>
  );
}
