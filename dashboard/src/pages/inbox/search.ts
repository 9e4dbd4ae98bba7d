import type { DraftState } from "./draftQueries";
import { DRAFT_STATES } from "./draftWords";

export const VIEWS = ["open", "mine", "unassigned", "unread", "closing", "closed"] as const;
export type View = (typeof VIEWS)[number];

/** What is shown. It is in the address, so that a view can be bookmarked and shared. */
export type InboxSearch = {
  channel?: string; // of the open conversation, and of the list unless `all` is set
  all?: true;
  conversation?: string;
  view?: View; // open ones are shown if nothing else is chosen
  label?: string; // by name: each channel has its own labels
  assignee?: string;
  q?: string;
  trace?: string;
  drafts?: DraftState; // the drafts in this state are listed instead of conversations
  draft?: string; // the open one
};

const TEXTS = ["channel", "conversation", "trace", "draft"] as const;
const WORDS = { q: 200, label: 64, assignee: 256 };

/** Reads the address; what makes no sense is left out. */
export function readInboxSearch(search: Record<string, unknown>): InboxSearch {
  const found: InboxSearch = {};
  for (const name of TEXTS) {
    const value = search[name];
    if (typeof value === "string" && value) found[name] = value;
  }
  for (const name of ["q", "label", "assignee"] as const) {
    const value = search[name];
    // A number in the address is read as one.
    const text = typeof value === "string" || typeof value === "number" ? String(value).slice(0, WORDS[name]) : "";
    if (text.trim()) found[name] = text;
  }
  if (search.all === true) found.all = true;
  const view = VIEWS.find((one) => one === search.view);
  if (view && view !== "open") found.view = view;
  const drafts = DRAFT_STATES.find((one) => one === search.drafts);
  if (drafts) found.drafts = drafts;
  return found;
}

/** The filters of the search, without what is open. */
export function isFiltered({ q, view, label, assignee }: InboxSearch): boolean {
  return Boolean(q || view || label || assignee);
}

export type ListFilter = {
  status?: "open" | "closed";
  archived?: "false";
  unread?: "true";
  window?: "closing";
  assignee?: string;
  label?: string;
  q?: string;
};

const VIEW_FILTERS: Record<View, ListFilter> = {
  open: { status: "open", archived: "false" },
  mine: { status: "open", archived: "false" },
  unassigned: { status: "open", archived: "false", assignee: "none" },
  unread: { unread: "true", archived: "false" },
  closing: { window: "closing", archived: "false" },
  closed: { status: "closed" },
};

/** The query of the API, without the label. A search finds conversations whatever their status. */
export function toFilter({ view = "open", assignee, q }: InboxSearch, user: string): ListFilter {
  const filter: ListFilter = q ? { q: toNeedle(q) } : { ...VIEW_FILTERS[view] };
  if (assignee) filter.assignee = assignee;
  if (view === "mine" && !q) filter.assignee = user;
  return filter;
}

/** A phone number as people write it, "+55 (11) 99999-8888", is searched by its digits; other text as it is. */
export function toNeedle(q: string): string {
  const text = q.trim();
  return /^\+?[\d\s().-]{4,}$/.test(text) ? text.replace(/\D/g, "") : text;
}

/** Whether the list shows all channels: on purpose, or because the address names none. */
export function isOfAll({ all, channel }: Pick<InboxSearch, "all" | "channel">): true | undefined {
  return all || !channel || undefined;
}
