import { readTexts } from "../../shared/search";
import { HTTP, type HttpClass, STATUSES, type Status } from "./words";

/** The filters of the log. They are in the address, so that a view can be bookmarked and shared. */
export type LogSearch = {
  channel?: string;
  endpoint?: string;
  status?: Status[];
  type?: string[];
  http?: HttpClass[];
  message?: string;
  from?: string;
  to?: string;
  delivery?: string;
};

const TEXTS = ["channel", "endpoint", "from", "to", "delivery", "message"] as const;

/** Reads the filters from the address; what makes no sense is left out. */
export function readLogSearch(search: Record<string, unknown>): LogSearch {
  const found: LogSearch = readTexts(search, TEXTS);
  const statuses = texts(search.status).filter((one): one is Status => (STATUSES as readonly string[]).includes(one));
  if (statuses.length) found.status = statuses;
  const classes = texts(search.http).filter((one): one is HttpClass => (HTTP as readonly string[]).includes(one));
  if (classes.length) found.http = classes;
  const types = texts(search.type);
  if (types.length) found.type = types;
  return found;
}

function texts(value: unknown): string[] {
  const list = Array.isArray(value) ? value : typeof value === "string" ? value.split(",") : [];
  return list.filter((one): one is string => typeof one === "string" && one !== "");
}

/** The filters as the API takes them. */
export function toQuery({ endpoint, status, type, http, message, from, to }: LogSearch) {
  return { endpoint, status: status?.join(","), type: type?.join(","), http: http?.join(","), message, from, to };
}

/** How many filters are set. */
export function countFilters({ endpoint, status, type, http, message, from, to }: LogSearch): number {
  return [endpoint, status, type, http, message, from, to].filter(Boolean).length;
}
