import { SimpleGrid } from "@mantine/core";
import { bytes } from "../../shared/bytes";
import { gatewayNow } from "../../shared/gatewayTime";
import { number } from "../../shared/numbers";
import { inFull } from "../../shared/times";
import { Meter } from "../../shared/ui/Meter";
import { Section } from "../../shared/ui/Section";
import { BarPlot } from "./BarPlot";
import { type Usage, useUsage } from "./queries";
import { monthDays } from "./search";
import { cumulated, pastDays } from "./series";

/** The messages of this month and the files, against the plan. */
export function PlanSection({ usage: { plan, storage } }: { usage: Usage }) {
  const month = useUsage(monthDays(plan.month));
  const days = month.data ? pastDays(month.data, new Date(gatewayNow()).toISOString().slice(0, 10)) : [];
  return (
    <Section title={`Plan ${plan.title}`}>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="lg">
        <Meter label="Messages sent this month" used={plan.used} limit={plan.limit} show={number}>
          Starts again at zero on {inFull(plan.resets_at)}.
        </Meter>
        <Meter label="Files" used={storage.used} limit={storage.limit} show={bytes}>
          All files of messages that are stored.
        </Meter>
      </SimpleGrid>
      {plan.limit !== null && days.length > 0 && (
        <BarPlot
          title={`Messages sent since the start of the month: ${number(plan.used)} of ${number(plan.limit)}.`}
          days={days.map((day) => day.date)}
          series={[{ label: "Sent since the start of the month", values: cumulated(days) }]}
          limit={{ label: "Plan", value: plan.limit }}
          cumulative
        />
      )}
    </Section>
  );
}
