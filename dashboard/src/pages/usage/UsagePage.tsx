import { Button, Group, SegmentedControl, Select, Stack, Text } from "@mantine/core";
import { IconChartBar, IconDownload } from "@tabler/icons-react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { useChannels } from "../../shared/channels";
import { downloadText } from "../../shared/download";
import { gatewayNow } from "../../shared/gatewayTime";
import { EmptyState } from "../../shared/ui/EmptyState";
import { Loaded } from "../../shared/ui/Loaded";
import { PageHeader } from "../../shared/ui/PageHeader";
import { Section } from "../../shared/ui/Section";
import { SkeletonRows } from "../../shared/ui/SkeletonRows";
import { BarPlot } from "./BarPlot";
import { ChannelTable } from "./ChannelTable";
import { DayTable } from "./DayTable";
import { FailureTable } from "./FailureTable";
import { PlanSection } from "./PlanSection";
import { type Usage, useUsage } from "./queries";
import { daysOf, type Group as Grouping, lastMonths, type UsageSearch } from "./search";
import { pastDays, seriesOf, toCsv } from "./series";

const MONTHS = 12;
const monthName = new Intl.DateTimeFormat(undefined, { month: "long", year: "numeric", timeZone: "UTC" });

export function UsagePage() {
  const search = useSearch({ from: "/signed-in/usage" });
  const navigate = useNavigate({ from: "/usage" });
  const usage = useUsage(daysOf(search, new Date(gatewayNow())), search.only);
  const change = (part: Partial<UsageSearch>) =>
    void navigate({ search: (before) => ({ ...before, ...part }), replace: true });
  return (
    <>
      <PageHeader title="Usage" actions={usage.data && <Download usage={usage.data} />}>
        Messages and files of the account against its plan and the limits of the network. Days are in UTC, as the month
        of the plan.
      </PageHeader>
      <Stack gap="lg">
        {usage.data && <PlanSection usage={usage.data} />}
        <Filters search={search} onChange={change} />
        <Loaded query={usage} loading={<SkeletonRows label="Loading usage" rows={2} height={240} />}>
          {(found) => <Figures usage={found} by={search.by ?? "direction"} onChange={change} />}
        </Loaded>
      </Stack>
    </>
  );
}

function today(): string {
  return new Date(gatewayNow()).toISOString().slice(0, 10);
}

function Download({ usage }: { usage: Usage }) {
  const days = pastDays(usage, today());
  const name = `usage-${usage.from}-${days.at(-1)?.date ?? usage.from}.csv`;
  return (
    <Button
      variant="default"
      leftSection={<IconDownload size={16} aria-hidden />}
      onClick={() => downloadText(name, toCsv(days))}
    >
      Download CSV
    </Button>
  );
}

type FilterProps = { search: UsageSearch; onChange: (part: Partial<UsageSearch>) => void };

function Filters({ search, onChange }: FilterProps) {
  const { data: channels } = useChannels();
  const months = lastMonths(new Date(gatewayNow()), MONTHS);
  return (
    <Group gap="sm" role="search" aria-label="Choose the days">
      <SegmentedControl
        aria-label="Days"
        value={search.range ?? "30"}
        onChange={(range) => onChange({ range: range as UsageSearch["range"] })}
        data={[
          { value: "7", label: "7 days" },
          { value: "30", label: "30 days" },
          { value: "90", label: "90 days" },
          { value: "month", label: "Month" },
        ]}
      />
      {search.range === "month" && (
        <Select
          aria-label="Month"
          data={months.map((month) => ({ value: month, label: monthName.format(new Date(`${month}-01T00:00:00Z`)) }))}
          value={search.month ?? months[0] ?? null}
          onChange={(month) => onChange({ month: month ?? undefined })}
          allowDeselect={false}
          w={{ base: "100%", xs: 180 }}
        />
      )}
      {channels && channels.length > 1 && (
        <Select
          aria-label="Channel"
          placeholder="All channels"
          data={channels.map(({ id, name, phone }) => ({ value: id, label: `${name} (+${phone})` }))}
          value={search.only ?? null}
          onChange={(only) => onChange({ only: only ?? undefined })}
          clearable
          w={{ base: "100%", xs: 240 }}
        />
      )}
    </Group>
  );
}

type FiguresProps = { usage: Usage; by: Grouping; onChange: (part: Partial<UsageSearch>) => void };

function Figures({ usage, by, onChange }: FiguresProps) {
  const days = pastDays(usage, today());
  const empty = days.every((day) => day.out.total + day.in.total === 0);
  if (usage.channels.length === 0) {
    return (
      <EmptyState icon={IconChartBar} title="Nothing to count yet">
        Connect a number and send a message; it appears here within seconds.
      </EmptyState>
    );
  }
  return (
    <>
      <Section title="Messages">
        {empty ? (
          <Text c="dimmed">No messages on these days. Choose other days, or send a message.</Text>
        ) : (
          <Messages usage={usage} days={days} by={by} onChange={onChange} />
        )}
      </Section>
      <Section title="Failures" text="Messages that were not sent, by the error of the network.">
        <FailureTable failures={usage.failures} />
      </Section>
      <Section title="Channels" text="What each channel sent, and how much of the network's limits it uses now.">
        <ChannelTable channels={usage.channels} />
      </Section>
    </>
  );
}

function Messages({ usage, days, by, onChange }: FiguresProps & { days: Usage["days"] }) {
  const [asTable, setAsTable] = useState(false);
  const series = seriesOf(usage, days, by);
  return (
    <Stack gap="md">
      <Group justify="space-between" gap="sm">
        <SegmentedControl
          aria-label="Grouped by"
          size="xs"
          value={by}
          onChange={(value) => onChange({ by: value as Grouping })}
          data={[
            { value: "direction", label: "By direction" },
            { value: "channel", label: "By channel" },
            { value: "type", label: "By type" },
          ]}
        />
        <Button variant="subtle" size="compact-sm" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
          {asTable ? "Show as a plot" : "Show as a table"}
        </Button>
      </Group>
      {asTable ? (
        <DayTable days={days.map((day) => day.date)} series={series} />
      ) : (
        <BarPlot
          title="Messages of each day. The same numbers are behind the button: Show as a table."
          days={days.map((day) => day.date)}
          series={series}
        />
      )}
    </Stack>
  );
}
