import { IconAlertTriangle, IconCode, IconKey, IconRobot, IconTerminal2 } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { type PageTab, TabbedPage } from "../../shared/ui/TabbedPage";

const TABS: PageTab[] = [
  { to: "/developers", label: "Keys", icon: IconKey },
  { to: "/developers/examples", label: "Code examples", icon: IconCode },
  { to: "/developers/console", label: "Console", icon: IconTerminal2 },
  { to: "/developers/mcp", label: "MCP", icon: IconRobot },
  { to: "/developers/refused", label: "Refused requests", icon: IconAlertTriangle },
];

/** The frame of the pages about the API. */
export function DevelopersTabs({ actions, children }: { actions?: ReactNode; children: ReactNode }) {
  return (
    <TabbedPage
      title="API"
      text="Send and receive messages of this channel from your own programs."
      tabs={TABS}
      actions={actions}
    >
      {children}
    </TabbedPage>
  );
}
