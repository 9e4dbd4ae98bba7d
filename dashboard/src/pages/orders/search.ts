import { readTexts } from "../../shared/search";
import { STATUSES, type Status } from "./words";

/** The filters of the list. They are in the address, so that a view can be bookmarked and shared. */
export type OrderSearch = { channel?: string; status?: Status; from?: string; to?: string; order?: string };

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Reads the filters from the address; what makes no sense is left out. */
export function readOrderSearch(search: Record<string, unknown>): OrderSearch {
  const found: OrderSearch = readTexts(search, ["channel", "order"]);
  const { from = "", to = "" } = readTexts(search, ["from", "to"]);
  if (DAY.test(from)) found.from = from;
  if (DAY.test(to)) found.to = to;
  const status = STATUSES.find((one) => one === search.status);
  if (status) found.status = status;
  return found;
}

/** The filters as the API takes them. `to` is the last day that is shown; the API's end is not part of its range. */
export function toQuery({ status, from, to }: OrderSearch, timeZone: string) {
  return { status, from, to: to && dayAfter(to), tz: from || to ? timeZone : undefined };
}

function dayAfter(day: string): string {
  const time = new Date(`${day}T00:00:00Z`);
  time.setUTCDate(time.getUTCDate() + 1);
  return time.toISOString().slice(0, 10);
}

/** How many filters are set. */
export function countFilters({ status, from, to }: OrderSearch): number {
  return [status, from, to].filter(Boolean).length;
}
