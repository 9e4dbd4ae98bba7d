import { readTexts } from "../../shared/search";

/** The filters of the log. They are in the address, so that a view can be shared. */
export type LogSearch = { actor?: string; action?: string; from?: string; to?: string };

const NAMES = ["actor", "action", "from", "to"] as const;

export function readAccountLogSearch(search: Record<string, unknown>): LogSearch {
  return readTexts(search, NAMES);
}

/** The filters as the API takes them. */
export function toQuery({ actor, action, from, to }: LogSearch): LogSearch {
  return { actor, action, from, to };
}

/** How many filters are set. */
export function countFilters(search: LogSearch): number {
  return NAMES.filter((name) => search[name]).length;
}
