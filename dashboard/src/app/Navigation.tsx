import { Badge, NavLink, Stack, Text } from "@mantine/core";
import {
  type Icon,
  IconBook,
  IconChartBar,
  IconCode,
  IconDeviceMobile,
  IconExternalLink,
  IconInbox,
  IconShoppingCart,
  IconTemplate,
  IconTerminal2,
  IconUsers,
  IconUsersGroup,
  IconWebhook,
} from "@tabler/icons-react";
import { Link, useRouterState } from "@tanstack/react-router";
import { attentionOf, type Counts } from "../shared/attention";
import { useChannel, useChannels } from "../shared/channels";
import { useDraftCount } from "../shared/drafts";
import { number } from "../shared/numbers";
import classes from "./Shell.module.css";

type Item = {
  to:
    | "/inbox"
    | "/channels"
    | "/contacts"
    | "/orders"
    | "/templates"
    | "/webhooks"
    | "/developers"
    | "/usage"
    | "/account";
  label: string;
  icon: Icon;
};

const ITEMS: Item[] = [
  { to: "/inbox", label: "Inbox", icon: IconInbox },
  { to: "/contacts", label: "Contacts", icon: IconUsers },
  { to: "/templates", label: "Templates", icon: IconTemplate },
  { to: "/orders", label: "Orders", icon: IconShoppingCart },
  { to: "/channels", label: "Channels", icon: IconDeviceMobile },
  { to: "/webhooks", label: "Webhooks", icon: IconWebhook },
  { to: "/developers", label: "API", icon: IconTerminal2 },
  { to: "/usage", label: "Usage", icon: IconChartBar },
  { to: "/account", label: "Account", icon: IconUsersGroup },
];

const DOCUMENTS: { href: string; label: string; icon: Icon }[] = [
  { href: "/docs", label: "API reference", icon: IconCode },
  { href: "/docs/index", label: "Documentation", icon: IconBook },
];

export function Navigation() {
  const path = useRouterState({ select: (state) => state.location.pathname });
  const { data: channels = [] } = useChannels();
  const channel = useChannel();
  const counts = attentionOf(channels, channel);
  const drafts = useDraftCount(channel ? [channel.id] : []);
  return (
    <Stack gap="lg">
      <Stack component="nav" aria-label="Pages" gap={2}>
        {ITEMS.map(({ to, label, icon: Picture }) => (
          <NavLink
            key={to}
            component={Link}
            to={to}
            label={label}
            leftSection={<Picture size={19} stroke={1.7} aria-hidden />}
            rightSection={
              to === "/inbox" ? (
                <Waiting count={drafts} />
              ) : (
                <Attention count={to in counts ? counts[to as keyof Counts] : 0} />
              )
            }
            active={path.startsWith(to)}
            aria-current={path.startsWith(to) ? "page" : undefined}
            className={classes.item}
          />
        ))}
      </Stack>
      <Stack component="nav" aria-label="Documentation" gap={2}>
        <Text size="xs" fw={600} c="dimmed" px="sm" mb={2}>
          Help
        </Text>
        {DOCUMENTS.map(({ href, label, icon: Picture }) => (
          <NavLink
            key={href}
            href={href}
            target="_blank"
            rel="noopener"
            label={label}
            leftSection={<Picture size={19} stroke={1.7} aria-hidden />}
            rightSection={<IconExternalLink size={14} aria-label="opens in a new tab" />}
            className={classes.item}
          />
        ))}
      </Stack>
    </Stack>
  );
}

/** How many drafts wait for a decision. */
function Waiting({ count }: { count: number }) {
  if (count === 0) return null;
  const shown = number(count);
  return (
    <Badge
      color="yellow"
      variant="light"
      size="sm"
      aria-label={`${shown} ${count === 1 ? "draft waits" : "drafts wait"}`}
    >
      {shown}
    </Badge>
  );
}

/** How much on a page needs a person. */
function Attention({ count }: { count: number }) {
  if (count === 0) return null;
  return (
    <Badge color="orange" variant="light" size="sm" aria-label={`${count} ${count === 1 ? "needs" : "need"} attention`}>
      {count}
    </Badge>
  );
}
