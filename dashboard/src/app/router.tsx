import { createRootRoute, createRoute, createRouter, redirect, retainSearchParams } from "@tanstack/react-router";
import { readAccountLogSearch } from "../pages/account/search";
import { readContactSearch } from "../pages/contacts/search";
import { readCallSearch, readConsoleSearch, readRefusedSearch } from "../pages/developers/search";
import { readInboxSearch } from "../pages/inbox/search";
import { readOrderSearch } from "../pages/orders/search";
import { readTemplateSearch } from "../pages/templates/search";
import { readUsageSearch } from "../pages/usage/search";
import { readLogSearch } from "../pages/webhooks/search";
import { only } from "../shared/search";
import { Failure } from "../shared/ui/Failure";
import { lazyRouteComponent } from "./lazyRouteComponent";
import { NotFound } from "./NotFound";
import { Root } from "./Root";
import { SignedIn } from "./SignedIn";

type RootSearch = { channel?: string };

const root = createRootRoute({
  component: Root,
  notFoundComponent: NotFound,
  validateSearch: (search: Record<string, unknown>): RootSearch =>
    typeof search.channel === "string" ? { channel: search.channel } : {},
  search: { middlewares: [retainSearchParams(["channel"])] },
});

const link = createRoute({
  getParentRoute: () => root,
  path: "/link/$token",
  component: lazyRouteComponent(() => import("../pages/link/LinkPage"), "LinkPage"),
});

const signedIn = createRoute({ getParentRoute: () => root, id: "signed-in", component: SignedIn });

const home = createRoute({
  getParentRoute: () => signedIn,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/inbox", search: true, replace: true });
  },
});

const inbox = createRoute({
  getParentRoute: () => signedIn,
  path: "/inbox",
  validateSearch: only(readInboxSearch),
  search: { middlewares: [retainSearchParams(["all"])] },
  staticData: { wide: true },
  component: lazyRouteComponent(() => import("../pages/inbox/InboxPage"), "InboxPage"),
});

const webhooks = createRoute({
  getParentRoute: () => signedIn,
  path: "/webhooks",
  component: lazyRouteComponent(() => import("../pages/webhooks/EndpointsPage"), "EndpointsPage"),
});

const webhookLog = createRoute({
  getParentRoute: () => signedIn,
  path: "/webhooks/log",
  validateSearch: only(readLogSearch),
  component: lazyRouteComponent(() => import("../pages/webhooks/LogPage"), "LogPage"),
});

const contacts = createRoute({
  getParentRoute: () => signedIn,
  path: "/contacts",
  validateSearch: only(readContactSearch),
  component: lazyRouteComponent(() => import("../pages/contacts/ContactsPage"), "ContactsPage"),
});

const labels = createRoute({
  getParentRoute: () => signedIn,
  path: "/contacts/labels",
  component: lazyRouteComponent(() => import("../pages/contacts/LabelsPage"), "LabelsPage"),
});

const orders = createRoute({
  getParentRoute: () => signedIn,
  path: "/orders",
  validateSearch: only(readOrderSearch),
  component: lazyRouteComponent(() => import("../pages/orders/OrdersPage"), "OrdersPage"),
});

const templates = createRoute({
  getParentRoute: () => signedIn,
  path: "/templates",
  validateSearch: only(readTemplateSearch),
  component: lazyRouteComponent(() => import("../pages/templates/TemplatesPage"), "TemplatesPage"),
});

const templateEditor = createRoute({
  getParentRoute: () => signedIn,
  path: "/templates/editor",
  validateSearch: only(readTemplateSearch),
  component: lazyRouteComponent(() => import("../pages/templates/EditorPage"), "EditorPage"),
});

const usage = createRoute({
  getParentRoute: () => signedIn,
  path: "/usage",
  validateSearch: only(readUsageSearch),
  component: lazyRouteComponent(() => import("../pages/usage/UsagePage"), "UsagePage"),
});

const trace = createRoute({
  getParentRoute: () => signedIn,
  path: "/messages/$message",
  component: lazyRouteComponent(() => import("../pages/trace/TracePage"), "TracePage"),
});

const developers = createRoute({
  getParentRoute: () => signedIn,
  path: "/developers",
  component: lazyRouteComponent(() => import("../pages/developers/KeysPage"), "KeysPage"),
});

const codeExamples = createRoute({
  getParentRoute: () => signedIn,
  path: "/developers/examples",
  component: lazyRouteComponent(() => import("../pages/developers/ExamplesPage"), "ExamplesPage"),
});

const apiConsole = createRoute({
  getParentRoute: () => signedIn,
  path: "/developers/console",
  validateSearch: only(readConsoleSearch),
  component: lazyRouteComponent(() => import("../pages/developers/ConsolePage"), "ConsolePage"),
});

const mcp = createRoute({
  getParentRoute: () => signedIn,
  path: "/developers/mcp",
  component: lazyRouteComponent(() => import("../pages/developers/McpPage"), "McpPage"),
});

const mcpPolicy = createRoute({
  getParentRoute: () => signedIn,
  path: "/developers/mcp/keys/$key",
  component: lazyRouteComponent(() => import("../pages/developers/PolicyPage"), "PolicyPage"),
});

const mcpCalls = createRoute({
  getParentRoute: () => signedIn,
  path: "/developers/mcp/calls",
  validateSearch: only(readCallSearch),
  component: lazyRouteComponent(() => import("../pages/developers/McpCallsPage"), "McpCallsPage"),
});

const refusedRequests = createRoute({
  getParentRoute: () => signedIn,
  path: "/developers/refused",
  validateSearch: only(readRefusedSearch),
  component: lazyRouteComponent(() => import("../pages/developers/RefusedPage"), "RefusedPage"),
});

const team = createRoute({
  getParentRoute: () => signedIn,
  path: "/account",
  component: lazyRouteComponent(() => import("../pages/account/TeamPage"), "TeamPage"),
});

const plan = createRoute({
  getParentRoute: () => signedIn,
  path: "/account/plan",
  component: lazyRouteComponent(() => import("../pages/account/PlanPage"), "PlanPage"),
});

const accountLog = createRoute({
  getParentRoute: () => signedIn,
  path: "/account/log",
  validateSearch: only(readAccountLogSearch),
  component: lazyRouteComponent(() => import("../pages/account/LogPage"), "LogPage"),
});

const channels = createRoute({
  getParentRoute: () => signedIn,
  path: "/channels",
  component: lazyRouteComponent(() => import("../pages/channels/ChannelsPage"), "ChannelsPage"),
});

const addChannel = createRoute({
  getParentRoute: () => signedIn,
  path: "/channels/new",
  component: lazyRouteComponent(() => import("../pages/channels/AddChannelPage"), "AddChannelPage"),
});

const oneChannel = createRoute({
  getParentRoute: () => signedIn,
  path: "/channels/$channelId",
  component: lazyRouteComponent(() => import("../pages/channels/ChannelDetailPage"), "ChannelDetailPage"),
});

const profile = createRoute({
  getParentRoute: () => signedIn,
  path: "/profile",
  component: lazyRouteComponent(() => import("../pages/profile/ProfilePage"), "ProfilePage"),
});

export const router = createRouter({
  routeTree: root.addChildren([
    link,
    signedIn.addChildren([
      home,
      inbox,
      contacts,
      labels,
      orders,
      templates,
      templateEditor,
      channels,
      addChannel,
      oneChannel,
      webhooks,
      webhookLog,
      trace,
      developers,
      codeExamples,
      apiConsole,
      mcp,
      mcpPolicy,
      mcpCalls,
      refusedRequests,
      usage,
      team,
      plan,
      accountLog,
      profile,
    ]),
  ]),
  defaultPreload: "intent",
  defaultErrorComponent: ({ error, reset }) => <Failure error={error} onRetry={reset} />,
  defaultNotFoundComponent: NotFound,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }

  interface StaticDataRouteOption {
    wide?: boolean; // the page fills the window and scrolls in its own parts
  }
}
