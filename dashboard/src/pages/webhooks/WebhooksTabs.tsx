import { IconListDetails, IconWebhook } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { type PageTab, TabbedPage } from "../../shared/ui/TabbedPage";

const TABS: PageTab[] = [
  { to: "/webhooks", label: "Endpoints", icon: IconWebhook },
  { to: "/webhooks/log", label: "Delivery log", icon: IconListDetails },
];

/** The frame of the pages about webhooks. */
export function WebhooksTabs({ actions, children }: { actions?: ReactNode; children: ReactNode }) {
  return (
    <TabbedPage
      title="Webhooks"
      text="Every event of this channel is posted to your endpoints, and tried again until it arrives."
      tabs={TABS}
      actions={actions}
    >
      {children}
    </TabbedPage>
  );
}
