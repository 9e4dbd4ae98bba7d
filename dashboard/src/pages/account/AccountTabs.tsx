import { IconCreditCard, IconHistory, IconUsersGroup } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { useSession } from "../../shared/session/queries";
import { type PageTab, TabbedPage } from "../../shared/ui/TabbedPage";

const TEAM: PageTab = { to: "/account", label: "Team", icon: IconUsersGroup };
const PLAN: PageTab = { to: "/account/plan", label: "Plan", icon: IconCreditCard };
const LOG: PageTab = { to: "/account/log", label: "Log", icon: IconHistory };

/** The frame of the pages about the account. Only owners see the log. */
export function AccountTabs({ actions, children }: { actions?: ReactNode; children: ReactNode }) {
  const { user, account } = useSession();
  const tabs = user.role === "owner" ? [TEAM, PLAN, LOG] : [TEAM, PLAN];
  return (
    <TabbedPage
      title="Account"
      text={`Who works with ${account.name}, its plan, and who did what.`}
      tabs={tabs}
      actions={actions}
    >
      {children}
    </TabbedPage>
  );
}
