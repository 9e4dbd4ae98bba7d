import { readTexts } from "../../shared/search";

export type RefusedSearch = { channel?: string; key?: string; request?: string };

export function readRefusedSearch(search: Record<string, unknown>): RefusedSearch {
  return readTexts(search, ["channel", "key", "request"]);
}

export type ConsoleSearch = { channel?: string; operation?: string };

export function readConsoleSearch(search: Record<string, unknown>): ConsoleSearch {
  return readTexts(search, ["channel", "operation"]);
}
