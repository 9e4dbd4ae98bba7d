import { Tabs } from "@mantine/core";
import type { Icon } from "@tabler/icons-react";
import { type LinkProps, useNavigate, useRouterState } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { PageHeader } from "./PageHeader";

export type PageTab = { to: NonNullable<LinkProps["to"]>; label: string; icon: Icon };

type Props = { title: string; text: string; tabs: PageTab[]; actions?: ReactNode; children: ReactNode };

/** A page with tabs, each of which has an address of its own. */
export function TabbedPage({ title, text, tabs, actions, children }: Props) {
  const navigate = useNavigate();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const open = (to: string | null) => {
    const tab = tabs.find((one) => one.to === to);
    if (tab) void navigate({ to: tab.to });
  };
  // A page below a tab, such as one row of its list, belongs to the tab.
  const inside = tabs.map((tab) => tab.to).filter((to) => path === to || path.startsWith(`${to}/`));
  const longest = inside.reduce((best, to) => (to.length > best.length ? to : best), "");
  const current = longest || path; // another page, while it is opened
  return (
    <>
      <PageHeader title={title} actions={actions}>
        {text}
      </PageHeader>
      <Tabs value={current} onChange={open} mb="lg" keepMounted={false}>
        <Tabs.List>
          {tabs.map(({ to, label, icon: Picture }) => (
            <Tabs.Tab key={to} value={to} leftSection={<Picture size={16} aria-hidden />}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={current} pt="lg">
          {children}
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
