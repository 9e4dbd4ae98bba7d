import { Tabs } from "@mantine/core";
import { IconTags, IconUsers } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { PageHeader } from "../../shared/ui/PageHeader";

type Props = { tab: "contacts" | "labels"; actions?: ReactNode; children: ReactNode };

/** Title and tabs of the two pages about people. */
export function ContactsHeader({ tab, actions, children }: Props) {
  const navigate = useNavigate();
  const open = (value: string | null) => void navigate({ to: value === "labels" ? "/contacts/labels" : "/contacts" });
  return (
    <>
      <PageHeader title="Contacts" actions={actions}>
        The people who write to this channel, and those you add yourself.
      </PageHeader>
      <Tabs value={tab} onChange={open} mb="lg" keepMounted={false}>
        <Tabs.List>
          <Tabs.Tab value="contacts" leftSection={<IconUsers size={16} aria-hidden />}>
            Contacts
          </Tabs.Tab>
          <Tabs.Tab value="labels" leftSection={<IconTags size={16} aria-hidden />}>
            Labels
          </Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value={tab} pt="lg">
          {children}
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
