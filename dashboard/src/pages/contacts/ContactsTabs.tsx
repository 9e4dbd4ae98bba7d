import { IconTags, IconUsers } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { type PageTab, TabbedPage } from "../../shared/ui/TabbedPage";

const TABS: PageTab[] = [
  { to: "/contacts", label: "Contacts", icon: IconUsers },
  { to: "/contacts/labels", label: "Labels", icon: IconTags },
];

/** The frame of the pages about people. */
export function ContactsTabs({ actions, children }: { actions?: ReactNode; children: ReactNode }) {
  return (
    <TabbedPage
      title="Contacts"
      text="The people who write to this channel, and those you add yourself."
      tabs={TABS}
      actions={actions}
    >
      {children}
    </TabbedPage>
  );
}
