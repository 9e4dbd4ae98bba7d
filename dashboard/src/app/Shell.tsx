import { AppShell, Burger, Group, ScrollArea, Stack } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Outlet, useRouterState } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { lastFocused } from "../shared/focus";
import { Logo } from "../shared/ui/Logo";
import { PAGE_TITLE } from "../shared/ui/PageHeader";
import { AccountNotice } from "./AccountNotice";
import { ChannelNotice } from "./ChannelNotice";
import { ChannelSwitcher } from "./ChannelSwitcher";
import { GettingStarted } from "./GettingStarted";
import { Navigation } from "./Navigation";
import classes from "./Shell.module.css";
import { SystemNotifications } from "./SystemNotifications";
import { UserMenu } from "./UserMenu";

/** The frame of every page: navigation at the side, or behind a button on a small screen. */
export function Shell() {
  const [opened, menu] = useDisclosure();
  const wide = useRouterState({ select: (state) => state.matches.some((match) => match.staticData.wide) });
  useFocusOnNewPage(menu.close);
  return (
    <AppShell
      header={{ height: { base: 56, sm: 0 } }}
      navbar={{ width: 248, breakpoint: "sm", collapsed: { mobile: !opened } }}
      padding={wide ? 0 : { base: "md", sm: "xl" }}
    >
      <SystemNotifications />
      <a href="#main" className="skip-link">
        Skip to the content
      </a>
      <AppShell.Header hiddenFrom="sm" className={classes.bar}>
        <Group h="100%" px="md" justify="space-between">
          <Logo />
          <Burger opened={opened} onClick={menu.toggle} size="sm" aria-label="Menu" />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar className={classes.bar} p="md" data-closed={!opened || undefined}>
        <Stack h="100%" gap="lg">
          <Group visibleFrom="sm" pt={4} px={4}>
            <Logo />
          </Group>
          <ChannelSwitcher />
          <ScrollArea flex={1} type="never">
            <Navigation />
          </ScrollArea>
          <UserMenu />
        </Stack>
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1}>
        <div className={wide ? classes.wide : classes.page}>
          <AccountNotice />
          <ChannelNotice />
          <GettingStarted />
          <Outlet />
        </div>
      </AppShell.Main>
    </AppShell>
  );
}

/** After a change of page, a keyboard or screen reader goes on at its title, or at the tab, and the menu closes. */
function useFocusOnNewPage(closeMenu: () => void): void {
  const path = useRouterState({ select: (state) => state.resolvedLocation?.pathname });
  const before = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (before.current !== undefined && path !== before.current) {
      closeMenu();
      const tab =
        lastFocused()?.role === "tab" && document.querySelector<HTMLElement>('[role="tab"][aria-selected="true"]');
      (tab || document.getElementById(PAGE_TITLE))?.focus({ preventScroll: true });
    }
    before.current = path;
  }, [path, closeMenu]);
}
