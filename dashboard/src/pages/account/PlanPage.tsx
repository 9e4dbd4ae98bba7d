import { Badge, Group, SimpleGrid, Stack, Text } from "@mantine/core";
import { useAccount } from "../../shared/account";
import type { Schemas } from "../../shared/api/client";
import { bytes } from "../../shared/bytes";
import { number } from "../../shared/numbers";
import { ago, inFull } from "../../shared/times";
import { CopyField } from "../../shared/ui/CopyField";
import { Loaded } from "../../shared/ui/Loaded";
import { Meter } from "../../shared/ui/Meter";
import { Section } from "../../shared/ui/Section";
import { SkeletonRows } from "../../shared/ui/SkeletonRows";
import { AccountTabs } from "./AccountTabs";

type Account = Schemas["OwnAccount"];

/** The plan, the trial and the add-ons, and how they are changed. */
export function PlanPage() {
  const account = useAccount();
  return (
    <AccountTabs>
      <Loaded query={account} loading={<SkeletonRows label="Loading the plan" rows={3} height={120} />}>
        {(found) => (
          <Stack gap="lg">
            <Limits account={found} />
            <Access account={found} />
            <Changes account={found} />
          </Stack>
        )}
      </Loaded>
    </AccountTabs>
  );
}

function Limits({ account: { plan, storage, api } }: { account: Account }) {
  return (
    <Section title={`Plan ${plan.title}`} text="What the account may send and store, and what is used of it.">
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="lg">
        <Meter label="Messages sent this month" used={plan.used} limit={plan.limit} show={number}>
          Starts again at zero on {inFull(plan.resets_at)}.
        </Meter>
        <Meter label="Files" used={storage.used} limit={storage.limit} show={bytes} />
      </SimpleGrid>
      <Text size="sm" c="dimmed">
        Each API key may send {number(api.rate)} requests per second, and {number(api.burst)} at once.
      </Text>
    </Section>
  );
}

function Access({ account: { trial, addons, api_access, suspended } }: { account: Account }) {
  const ends = `${inFull(trial.ends_at)} (${ago(trial.ends_at)})`;
  return (
    <Section title="Trial and add-ons">
      <Group gap="xs">
        {suspended && <Badge color="red">Suspended</Badge>}
        {trial.active ? <Badge variant="light">Trial</Badge> : <Badge variant="default">Trial over</Badge>}
        {addons.map((addon) => (
          <Badge key={addon} variant="light">
            {addon}
          </Badge>
        ))}
      </Group>
      <Text size="sm">
        {trial.active ? `The trial ends ${ends}.` : `The trial ended ${ends}.`}{" "}
        {api_access
          ? "The add-on API Access lets keys and people send, during the trial and after it."
          : "Without the add-on API Access nothing is sent after it; everything stays readable."}
      </Text>
    </Section>
  );
}

function Changes({ account: { id } }: { account: Account }) {
  return (
    <Section
      title="Change the plan"
      text="The operator of this gateway changes it on the server, with these commands. They take effect at once."
    >
      <CopyField label="Plans" value="gatepost plan list" />
      <CopyField label="Another plan" value={`gatepost account plan ${id} PLAN`} />
      <CopyField label="Add-on" value={`gatepost account addon add ${id} "API Access"`} />
      <CopyField label="Longer trial" value={`gatepost account trial ${id} --days 14`} />
    </Section>
  );
}
