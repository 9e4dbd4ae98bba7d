import { Button, Stack, Text } from "@mantine/core";
import { IconDeviceMobile, IconPlus } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useAccount } from "../../shared/account";
import { useChannels } from "../../shared/channels";
import { useMayManage } from "../../shared/session/queries";
import { EmptyState } from "../../shared/ui/EmptyState";
import { Loaded } from "../../shared/ui/Loaded";
import { PageHeader } from "../../shared/ui/PageHeader";
import { SkeletonRows } from "../../shared/ui/SkeletonRows";
import { ChannelCard } from "./ChannelCard";

export function ChannelsPage() {
  const channels = useChannels();
  const mayManage = useMayManage();
  const add = mayManage && (
    <Button
      leftSection={<IconPlus size={16} aria-hidden />}
      renderRoot={(props) => <Link {...props} to="/channels/new" />}
    >
      Add a channel
    </Button>
  );
  return (
    <>
      <PageHeader title="Channels" actions={channels.data?.length ? add : null}>
        A channel is one phone number: its connection, its quality, and what its limits leave.
      </PageHeader>
      <Loaded query={channels} loading={<SkeletonRows label="Loading channels" rows={2} height={170} />}>
        {(list) =>
          list.length ? (
            <Stack gap="md">
              <PlanLine />
              {list.map((channel) => (
                <ChannelCard key={channel.id} channel={channel} />
              ))}
            </Stack>
          ) : (
            <EmptyState icon={IconDeviceMobile} title="No channel yet" action={add}>
              {mayManage
                ? "Connect an official number, or link a phone by QR code."
                : "An owner of the account connects the first number."}
            </EmptyState>
          )
        }
      </Loaded>
    </>
  );
}

/** What is left of the plan, which all channels share. */
function PlanLine() {
  const plan = useAccount().data?.plan;
  if (!plan) return null;
  return (
    <Text size="sm" c="dimmed">
      {plan.title} plan:{" "}
      {plan.left === null
        ? `${plan.used.toLocaleString("en")} messages this month, no limit`
        : `${plan.left.toLocaleString("en")} of ${(plan.limit ?? 0).toLocaleString("en")} messages left this month`}
    </Text>
  );
}
