export const VIEWS = ["open", "mine", "unread", "closed"] as const;
export type View = (typeof VIEWS)[number];

/** What is shown. It is in the address, so that a view can be bookmarked and shared. */
export type InboxSearch = {
  channel?: string;
  conversation?: string;
  view?: View; // open ones are shown if nothing else is chosen
  label?: string;
  q?: string;
  trace?: string;
};

const TEXTS = ["channel", "conversation", "label", "trace"] as const;
const LONGEST = 200;

/** Reads the address; what makes no sense is left out. */
export function readInboxSearch(search: Record<string, unknown>): InboxSearch {
  const found: InboxSearch = {};
  for (const name of TEXTS) {
    const value = search[name];
    if (typeof value === "string" && value) found[name] = value;
  }
  // A number in the address is read as one.
  const q = typeof search.q === "string" || typeof search.q === "number" ? String(search.q).slice(0, LONGEST) : "";
  if (q.trim()) found.q = q;
  const view = VIEWS.find((one) => one === search.view);
  if (view && view !== "open") found.view = view;
  return found;
}

export type ListFilter = {
  status?: "open" | "closed";
  unread?: "true";
  assignee?: string;
  label?: string;
  q?: string;
};

/** The query of the API. A search finds conversations whatever their status. */
export function toFilter({ view = "open", label, q }: InboxSearch, user: string): ListFilter {
  const filter: ListFilter = {};
  if (q) filter.q = toNeedle(q);
  else if (view === "unread") filter.unread = "true";
  else filter.status = view === "closed" ? "closed" : "open";
  if (view === "mine" && !q) filter.assignee = user;
  if (label) filter.label = label;
  return filter;
}

/** A phone number as people write it, "+55 (11) 99999-8888", is searched by its digits; other text as it is. */
export function toNeedle(q: string): string {
  const text = q.trim();
  return /^\+?[\d\s().-]{4,}$/.test(text) ? text.replace(/\D/g, "") : text;
}
