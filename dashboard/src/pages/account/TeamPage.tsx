import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconUserPlus } from "@tabler/icons-react";
import { useState } from "react";
import { usePeople } from "../../shared/people";
import { useSession } from "../../shared/session/queries";
import { type Column, DataTable } from "../../shared/ui/DataTable";
import { Loaded } from "../../shared/ui/Loaded";
import { SkeletonRows } from "../../shared/ui/SkeletonRows";
import { StatusBadge } from "../../shared/ui/StatusBadge";
import { Time } from "../../shared/ui/Time";
import { AccountTabs } from "./AccountTabs";
import { Breaking } from "./Breaking";
import { InviteDialog } from "./InviteDialog";
import { LinkDialog } from "./LinkDialog";
import type { User, UserLink } from "./queries";
import { UserMenu } from "./UserMenu";
import { joinLook, roleLook } from "./words";

/** The people of the account. Owners invite, change roles and remove. */
export function TeamPage() {
  const { user: me } = useSession();
  const users = usePeople();
  const [inviting, dialog] = useDisclosure();
  const [link, setLink] = useState<UserLink | null>(null);
  const owner = me.role === "owner";
  const invite = owner && (
    <Button leftSection={<IconUserPlus size={16} aria-hidden />} onClick={dialog.open}>
      Invite
    </Button>
  );
  return (
    <AccountTabs actions={invite}>
      <Loaded query={users} loading={<SkeletonRows label="Loading the team" />}>
        {(rows) => (
          <DataTable
            label="Team"
            rows={rows}
            columns={columnsFor(me.id)}
            actions={owner ? (user) => <UserMenu user={user} onLink={setLink} /> : undefined}
          />
        )}
      </Loaded>
      <InviteDialog opened={inviting} onClose={dialog.close} onInvited={setLink} />
      <LinkDialog link={link} onClose={() => setLink(null)} />
    </AccountTabs>
  );
}

function columnsFor(me: string): Column<User>[] {
  return [
    {
      header: "Person",
      opens: true,
      cell: (user) => <Breaking text={`${user.name || user.email}${user.id === me ? " (you)" : ""}`} />,
      below: (user) => user.name && <Breaking text={user.email} />,
    },
    { header: "Role", cell: ({ role }) => <StatusBadge look={roleLook(role)} /> },
    { header: "Two-factor", from: "sm", cell: (user) => <StatusBadge look={joinLook(user)} /> },
    { header: "Since", from: "md", quiet: true, cell: (user) => <Time value={user.created_at} /> },
  ];
}
