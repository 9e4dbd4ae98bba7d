import { Tabs } from "@mantine/core";
import { IconListDetails, IconWebhook } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { PageHeader } from "../../shared/ui/PageHeader";

type Props = { tab: "endpoints" | "log"; actions?: ReactNode; children: ReactNode };

/** Title and tabs of the two pages about webhooks. */
export function WebhooksHeader({ tab, actions, children }: Props) {
  const navigate = useNavigate();
  const open = (value: string | null) => void navigate({ to: value === "log" ? "/webhooks/log" : "/webhooks" });
  return (
    <>
      <PageHeader title="Webhooks" actions={actions}>
        Every event of this channel is posted to your endpoints, and tried again until it arrives.
      </PageHeader>
      <Tabs value={tab} onChange={open} mb="lg" keepMounted={false}>
        <Tabs.List>
          <Tabs.Tab value="endpoints" leftSection={<IconWebhook size={16} aria-hidden />}>
            Endpoints
          </Tabs.Tab>
          <Tabs.Tab value="log" leftSection={<IconListDetails size={16} aria-hidden />}>
            Delivery log
          </Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value={tab} pt="lg">
          {children}
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
