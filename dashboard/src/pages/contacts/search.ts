import { readTexts } from "../../shared/search";

/** What is searched for. It is in the address, so that a view can be bookmarked and shared. */
export type ContactSearch = {
  channel?: string;
  q?: string;
  label?: string;
  opted_out?: "true" | "false";
  contact?: string;
};

const TEXTS = ["channel", "q", "label", "contact"] as const;

/** Reads the search from the address; what makes no sense is left out. */
export function readContactSearch(search: Record<string, unknown>): ContactSearch {
  const found: ContactSearch = readTexts(search, TEXTS);
  if (typeof search.q === "number") found.q = String(search.q); // a number in the address
  const optedOut = String(search.opted_out);
  if (optedOut === "true" || optedOut === "false") found.opted_out = optedOut;
  return found;
}

const NUMBER = /^\+?[\d\s().-]+$/;
const LONGEST = 64;

/** The search as the API takes it. A phone number may be typed as people write it. */
export function toQuery({ q, label, opted_out }: ContactSearch) {
  const text = q?.trim() ?? "";
  const words = NUMBER.test(text) ? text.replace(/\D/g, "") : text;
  return { q: words.slice(0, LONGEST) || undefined, label, opted_out };
}

export function isFiltered(search: ContactSearch): boolean {
  return Object.values(toQuery(search)).some((value) => value !== undefined);
}

/** The address of the export: the same filters, without the words, which the export does not take. */
export function exportAddress(channel: string, { label, opted_out }: ContactSearch): string {
  const query = new URLSearchParams({ channel });
  if (label) query.set("label", label);
  if (opted_out) query.set("opted_out", opted_out);
  return `/api/v1/contacts/export?${query}`;
}
