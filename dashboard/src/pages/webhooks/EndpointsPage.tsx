import { Button, Skeleton, Stack } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus, IconWebhook } from "@tabler/icons-react";
import { useState } from "react";
import { useMayManage } from "../../shared/session/queries";
import { ChannelPage } from "../../shared/ui/ChannelPage";
import { EmptyState } from "../../shared/ui/EmptyState";
import { Failure } from "../../shared/ui/Failure";
import { CreateDialog } from "./CreateDialog";
import { EndpointCard } from "./EndpointCard";
import { type NewWebhook, useEndpoints } from "./queries";
import { SecretDialog } from "./SecretDialog";
import { WebhooksHeader } from "./WebhooksHeader";

export function EndpointsPage() {
  return (
    <ChannelPage>
      <Endpoints />
    </ChannelPage>
  );
}

function Endpoints() {
  const endpoints = useEndpoints();
  const mayManage = useMayManage();
  const [creating, dialog] = useDisclosure();
  const [made, setMade] = useState<NewWebhook | null>(null);
  const add = mayManage && (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={dialog.open}>
      Add an endpoint
    </Button>
  );
  const done = (webhook: NewWebhook) => {
    dialog.close();
    setMade(webhook);
  };
  return (
    <WebhooksHeader tab="endpoints" actions={endpoints.data?.length ? add : null}>
      {endpoints.isPending && <Loading />}
      {endpoints.isError && !endpoints.data && (
        <Failure error={endpoints.error} onRetry={() => void endpoints.refetch()} />
      )}
      {endpoints.data?.length === 0 && (
        <EmptyState icon={IconWebhook} title="No endpoint yet" action={add}>
          Add the address of your server. It then gets a POST for every message, status, contact and order of this
          channel.
        </EmptyState>
      )}
      <Stack gap="md">
        {endpoints.data?.map((endpoint) => (
          <EndpointCard key={endpoint.id} endpoint={endpoint} />
        ))}
      </Stack>
      <CreateDialog opened={creating} onClose={dialog.close} onCreated={done} />
      <SecretDialog webhook={made} title="Endpoint added" onClose={() => setMade(null)} />
    </WebhooksHeader>
  );
}

function Loading() {
  return (
    <Stack gap="md" role="status" aria-label="Loading endpoints">
      {[0, 1].map((row) => (
        <Skeleton key={row} height={208} radius={12} />
      ))}
    </Stack>
  );
}
