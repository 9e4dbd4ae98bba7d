import { Button, Stack } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus, IconWebhook } from "@tabler/icons-react";
import { useState } from "react";
import { useMayManage } from "../../shared/session/queries";
import { ChannelPage } from "../../shared/ui/ChannelPage";
import { EmptyState } from "../../shared/ui/EmptyState";
import { Loaded } from "../../shared/ui/Loaded";
import { SkeletonRows } from "../../shared/ui/SkeletonRows";
import { CreateDialog } from "./CreateDialog";
import { EndpointCard } from "./EndpointCard";
import { type NewWebhook, useEndpoints } from "./queries";
import { SecretDialog } from "./SecretDialog";
import { WebhooksTabs } from "./WebhooksTabs";

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
  return (
    <WebhooksTabs actions={endpoints.data?.length ? add : null}>
      <Loaded query={endpoints} loading={<SkeletonRows label="Loading endpoints" rows={2} height={208} />}>
        {(list) =>
          list.length ? (
            <Stack gap="md">
              {list.map((endpoint) => (
                <EndpointCard key={endpoint.id} endpoint={endpoint} />
              ))}
            </Stack>
          ) : (
            <EmptyState icon={IconWebhook} title="No endpoint yet" action={add}>
              Add the address of your server. It then gets a POST for every message, status, contact and order of this
              channel.
            </EmptyState>
          )
        }
      </Loaded>
      <CreateDialog opened={creating} onClose={dialog.close} onCreated={setMade} />
      <SecretDialog webhook={made} title="Endpoint added" onClose={() => setMade(null)} />
    </WebhooksTabs>
  );
}
