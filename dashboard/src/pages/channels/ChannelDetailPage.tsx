import { Alert, Button, Group, SimpleGrid, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconAlertTriangle, IconDeviceMobile } from "@tabler/icons-react";
import { useParams } from "@tanstack/react-router";
import { isProblem } from "../../shared/api/problem";
import type { Channel } from "../../shared/channels";
import { connectionLook } from "../../shared/connection";
import { useMayManage } from "../../shared/session/queries";
import { EmptyState } from "../../shared/ui/EmptyState";
import { Loaded } from "../../shared/ui/Loaded";
import { PageHeader } from "../../shared/ui/PageHeader";
import { Section } from "../../shared/ui/Section";
import { SkeletonRows } from "../../shared/ui/SkeletonRows";
import { StatusBadge } from "../../shared/ui/StatusBadge";
import { BackToChannels } from "./AddChannelPage";
import { CallbackFields } from "./CallbackFields";
import { Fact } from "./ChannelCard";
import { DeleteChannel } from "./DeleteChannel";
import { Headroom } from "./Headroom";
import { LimitsForm } from "./LimitsForm";
import { LinkPanel } from "./LinkPanel";
import { NameForm } from "./NameForm";
import { NumberHealth } from "./NumberHealth";
import { ProfileSection } from "./ProfileSection";
import { useOneChannel } from "./queries";
import { TokenDialog } from "./TokenDialog";
import { kindWords, needsHelp } from "./words";

export function ChannelDetailPage() {
  const { channelId } = useParams({ from: "/signed-in/channels/$channelId" });
  const channel = useOneChannel(channelId);
  return (
    <>
      <BackToChannels />
      {isProblem(channel.error, "not_found") ? (
        <EmptyState icon={IconDeviceMobile} title="There is no such channel">
          It was deleted, or it belongs to another account.
        </EmptyState>
      ) : (
        <Loaded query={channel} loading={<SkeletonRows label="Loading the channel" rows={3} height={140} />}>
          {(found) => <Detail key={found.id} channel={found} />}
        </Loaded>
      )}
    </>
  );
}

function Detail({ channel }: { channel: Channel }) {
  const mayManage = useMayManage();
  const official = channel.kind === "official";
  return (
    <>
      <PageHeader title={channel.name} actions={<StatusBadge look={connectionLook(channel)} size="lg" />}>
        +{channel.phone} · {kindWords(channel.kind)}
      </PageHeader>
      <Stack gap="md">
        <Trouble channel={channel} mayManage={mayManage} />
        {channel.link && <LinkPanel channel={channel} mayManage={mayManage} />}
        <LimitsLeft channel={channel} />
        {official && <NumberHealth id={channel.id} />}
        {channel.callback_url && channel.verify_token && (
          <Section title="Callbacks" text="What the app at the network has to know.">
            <CallbackFields callbackUrl={channel.callback_url} verifyToken={channel.verify_token} />
          </Section>
        )}
        {official && <ProfileSection id={channel.id} mayManage={mayManage} />}
        {mayManage && (
          <>
            <NameForm channel={channel} />
            <LimitsForm channel={channel} />
            {official && <TokenSection channel={channel} />}
            <DeleteChannel channel={channel} />
          </>
        )}
        {!mayManage && (
          <Text size="sm" c="dimmed">
            Only owners change channels.
          </Text>
        )}
      </Stack>
    </>
  );
}

/** Why the channel does not work as it should, and what helps. */
function Trouble({ channel, mayManage }: { channel: Channel; mayManage: boolean }) {
  const [opened, dialog] = useDisclosure();
  if (channel.link || channel.connection === "connected") return null;
  return (
    <Alert
      color={needsHelp(channel) ? "red" : "orange"}
      icon={<IconAlertTriangle size={18} aria-hidden />}
      title={connectionLook(channel).label}
      role="alert"
    >
      <Stack gap="sm" align="flex-start">
        {channel.reason}
        {mayManage && channel.token_rejected_at && (
          <Button color="red" size="xs" onClick={dialog.open}>
            Set a new token
          </Button>
        )}
      </Stack>
      <TokenDialog channel={channel} opened={opened} onClose={dialog.close} />
    </Alert>
  );
}

function LimitsLeft({ channel }: { channel: Channel }) {
  return (
    <Section title="Headroom" text="What the limits of the number leave now.">
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="lg">
        <Headroom label="New conversations, 24 h" limit={channel.tier.limit} used={channel.tier.used} />
        <Headroom label="Messages per second" limit={channel.throughput.limit} used={channel.throughput.used} />
      </SimpleGrid>
      <Group gap="xl">
        <Fact label="Waiting to be sent">{channel.queued.toLocaleString("en")}</Fact>
        <Fact label="Unread conversations">{channel.unread.toLocaleString("en")}</Fact>
        <Fact label="To the same person">
          one per {channel.pair.seconds} s after {channel.pair.burst}
        </Fact>
      </Group>
      {channel.waiting && <Text size="sm">Messages wait: {channel.waiting.because}</Text>}
    </Section>
  );
}

function TokenSection({ channel }: { channel: Channel }) {
  const [opened, dialog] = useDisclosure();
  return (
    <Section
      title="Access token"
      text="It is kept encrypted, and never shown. A new one is tested before it replaces the old one."
      actions={
        <Button variant="default" onClick={dialog.open}>
          New token
        </Button>
      }
    >
      <TokenDialog channel={channel} opened={opened} onClose={dialog.close} />
    </Section>
  );
}
