import { Anchor, Group, Select, Stack, Text } from "@mantine/core";
import { IconRobot } from "@tabler/icons-react";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { rowsOf } from "../../shared/lists";
import { inFull } from "../../shared/times";
import { ChannelPage } from "../../shared/ui/ChannelPage";
import { CodeBlock } from "../../shared/ui/CodeBlock";
import { type Column, DataTable } from "../../shared/ui/DataTable";
import { EmptyState } from "../../shared/ui/EmptyState";
import { FilterBar } from "../../shared/ui/FilterBar";
import { Listed } from "../../shared/ui/Listed";
import { LoadMore } from "../../shared/ui/LoadMore";
import { OpenConversation } from "../../shared/ui/OpenConversation";
import { SidePanel } from "../../shared/ui/SidePanel";
import { SkeletonRows } from "../../shared/ui/SkeletonRows";
import { StatusBadge } from "../../shared/ui/StatusBadge";
import { Time } from "../../shared/ui/Time";
import { DevelopersTabs } from "./DevelopersTabs";
import { type McpCall, useCalls } from "./mcpQueries";
import { causeOf, type Linked, linksOf, outcomeLook } from "./mcpWords";
import { type ApiKey, useKeys } from "./queries";
import { type CallFilter, type CallSearch, CHANGING_TOOLS, OUTCOMES, type Outcome, READING_TOOLS } from "./search";

export function McpCallsPage() {
  return (
    <ChannelPage>
      <DevelopersTabs>
        <Calls />
      </DevelopersTabs>
    </ChannelPage>
  );
}

function Calls() {
  const { key, tool, outcome, call } = useSearch({ from: "/signed-in/developers/mcp/calls" });
  const navigate = useNavigate({ from: "/developers/mcp/calls" });
  const filter: CallFilter = { key, tool, outcome };
  const keys = useKeys();
  const calls = useCalls(filter);
  const change = (part: Partial<CallSearch>, replace = false) =>
    void navigate({ search: (before) => ({ ...before, ...part }), replace });
  return (
    <Stack gap="md">
      <Anchor component={Link} to="/developers/mcp" size="sm" underline="always" w="fit-content">
        All assistants
      </Anchor>
      <Filters filter={filter} keys={keys.data ?? []} onChange={(part) => change(part, true)} />
      <Listed query={calls} loading={<SkeletonRows label="Loading the calls" />}>
        {(data) => {
          const rows = rowsOf(data);
          const open = rows.find(({ id }) => id === call);
          return rows.length ? (
            <>
              <DataTable label="Calls" rows={rows} columns={COLUMNS} onOpen={(id) => change({ call: id })} />
              <SidePanel title="Call" id={open?.id} onClose={() => change({ call: undefined })}>
                {() => open && <Details call={open} />}
              </SidePanel>
            </>
          ) : (
            <EmptyState icon={IconRobot} title="No calls">
              {key || tool || outcome
                ? "No call fits these filters."
                : "Every call of a tool by an assistant is listed here, with what came of it."}
            </EmptyState>
          );
        }}
      </Listed>
      <LoadMore query={calls} />
    </Stack>
  );
}

type FilterProps = { filter: CallFilter; keys: ApiKey[]; onChange: (filter: CallFilter) => void };

function Filters({ filter, keys, onChange }: FilterProps) {
  const count = Object.values(filter).filter(Boolean).length;
  const width = { base: "100%", xs: 210 };
  return (
    <FilterBar
      label="Filter the calls"
      count={count}
      onClear={() => onChange({ key: undefined, tool: undefined, outcome: undefined })}
    >
      <Select
        label="Key"
        placeholder="All keys"
        data={keys
          .filter(({ scopes }) => scopes.includes("mcp"))
          .map(({ id, name, hint }) => ({ value: id, label: `${name} (${hint}…)` }))}
        value={filter.key ?? null}
        onChange={(key) => onChange({ key: key ?? undefined })}
        clearable
        w={width}
      />
      <Select
        label="Tool"
        placeholder="All tools"
        data={[
          { group: "Changing", items: CHANGING_TOOLS },
          { group: "Reading", items: READING_TOOLS },
        ]}
        value={filter.tool ?? null}
        onChange={(tool) => onChange({ tool: tool ?? undefined })}
        searchable
        clearable
        w={width}
      />
      <Select
        label="Outcome"
        placeholder="All outcomes"
        data={OUTCOMES.map((value) => ({ value, label: outcomeLook(value).label }))}
        value={filter.outcome ?? null}
        onChange={(outcome) => onChange({ outcome: (outcome as Outcome | null) ?? undefined })}
        clearable
        w={width}
      />
    </FilterBar>
  );
}

const COLUMNS: Column<McpCall>[] = [
  { header: "Tool", cell: ({ tool }) => tool, below: (call) => <Time value={call.at} />, opens: true },
  {
    header: "Outcome",
    cell: ({ outcome }) => <StatusBadge look={outcomeLook(outcome)} />,
    below: (call) => causeOf(call),
  },
  {
    header: "Key",
    cell: (call) => <span style={{ overflowWrap: "anywhere" }}>{keyName(call)}</span>,
    from: "sm",
  },
  {
    header: "Client",
    cell: ({ client }) => <span style={{ overflowWrap: "anywhere" }}>{client}</span>,
    below: ({ transport }) => transport,
    from: "md",
  },
];

function keyName({ key }: McpCall): string {
  return key.name ?? key.id;
}

function Details({ call }: { call: McpCall }) {
  return (
    <Stack>
      <Group gap="sm">
        <StatusBadge look={outcomeLook(call.outcome)} size="lg" />
        <Text fw={600}>{call.tool}</Text>
      </Group>
      <Text size="sm" c="dimmed" style={{ overflowWrap: "anywhere" }}>
        With the key “{keyName(call)}”, by {call.client || "an unnamed client"} ({call.transport}), {inFull(call.at)}
      </Text>
      {call.rule && (
        <Text size="sm">
          Rule: <code>{call.rule}</code>
        </Text>
      )}
      {call.code && (
        <Text size="sm">
          Error: <code>{call.code}</code>
        </Text>
      )}
      <CodeBlock label="Arguments" text={JSON.stringify(call.arguments)} />
      {call.ids.length > 0 && (
        <Stack gap={4}>
          <Text size="sm" fw={600}>
            Made or changed
          </Text>
          {linksOf(call.ids).map((one) => (
            <MadeLink key={one.id} made={one} />
          ))}
        </Stack>
      )}
      {call.conversation && <OpenConversation id={call.conversation} />}
    </Stack>
  );
}

function MadeLink({ made: { id, kind } }: { made: Linked }) {
  const look = { size: "sm", ff: "monospace", underline: "always", style: { overflowWrap: "anywhere" } } as const;
  switch (kind) {
    case "message":
      return (
        <Anchor {...look} renderRoot={(props) => <Link to="/messages/$message" params={{ message: id }} {...props} />}>
          {id}
        </Anchor>
      );
    case "draft":
      return (
        <Anchor {...look} renderRoot={(props) => <Link to="/inbox" search={{ draft: id }} {...props} />}>
          {id}
        </Anchor>
      );
    case "conversation":
      return (
        <Anchor {...look} renderRoot={(props) => <Link to="/inbox" search={{ conversation: id }} {...props} />}>
          {id}
        </Anchor>
      );
    case "other":
      return (
        <Text size="sm" ff="monospace" style={{ overflowWrap: "anywhere" }}>
          {id}
        </Text>
      );
  }
}
