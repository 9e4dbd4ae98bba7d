import { Skeleton, Stack } from "@mantine/core";
import { IconMessages } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { useChannel, useChannels } from "../channels";
import { EmptyState } from "./EmptyState";
import { Failure } from "./Failure";

/** A page that is about one channel. It is drawn again from the start for another channel. */
export function ChannelPage({ children }: { children: ReactNode }) {
  const channels = useChannels();
  const channel = useChannel();
  if (channel) return <div key={channel.id}>{children}</div>;
  if (channels.error) return <Failure error={channels.error} onRetry={() => void channels.refetch()} />;
  if (!channels.data) {
    return (
      <Stack role="status" aria-label="Loading">
        <Skeleton height={36} width={220} />
        <Skeleton height={20} width={380} maw="100%" />
        <Skeleton height={240} radius={12} mt="lg" />
      </Stack>
    );
  }
  return channels.data.length === 0 ? (
    <EmptyState icon={IconMessages} title="No channel yet">
      A channel is one phone number. The operator of the gateway adds it with the command{" "}
      <code>gatepost channel create</code>.
    </EmptyState>
  ) : (
    <EmptyState icon={IconMessages} title="This channel is not yours">
      The address names a channel that your account does not have. Choose another one.
    </EmptyState>
  );
}
