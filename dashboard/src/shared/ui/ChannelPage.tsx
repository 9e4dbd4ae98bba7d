import { Button, Skeleton, Stack } from "@mantine/core";
import { IconMessages } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useChannel, useChannels } from "../channels";
import { useMayManage } from "../session/queries";
import { EmptyState } from "./EmptyState";
import { Failure } from "./Failure";

/** A page that is about one channel. It is drawn again from the start for another channel. */
export function ChannelPage({ children }: { children: ReactNode }) {
  const channels = useChannels();
  const channel = useChannel();
  const mayManage = useMayManage();
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
    <EmptyState page icon={IconMessages} title="No channel yet" action={mayManage && <AddChannel />}>
      {mayManage
        ? "A channel is one phone number. Connect an official number, or link a phone by QR code."
        : "A channel is one phone number. An owner of the account connects the first one."}
    </EmptyState>
  ) : (
    <EmptyState page icon={IconMessages} title="This channel is not yours">
      The address names a channel that your account does not have. Choose another one.
    </EmptyState>
  );
}

function AddChannel() {
  return <Button renderRoot={(props) => <Link {...props} to="/channels/new" />}>Add a channel</Button>;
}
