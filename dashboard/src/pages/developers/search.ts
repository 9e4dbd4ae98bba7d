import { readTexts } from "../../shared/search";

export type RefusedSearch = { channel?: string; key?: string; request?: string };

export function readRefusedSearch(search: Record<string, unknown>): RefusedSearch {
  return readTexts(search, ["channel", "key", "request"]);
}

export type ConsoleSearch = { channel?: string; operation?: string };

export function readConsoleSearch(search: Record<string, unknown>): ConsoleSearch {
  return readTexts(search, ["channel", "operation"]);
}

export const OUTCOMES = ["done", "sent", "draft", "dry_run", "repeated", "refused", "failed"] as const;
export type Outcome = (typeof OUTCOMES)[number];

export type CallFilter = { key?: string; tool?: string; outcome?: Outcome };
export type CallSearch = CallFilter & { channel?: string; call?: string };

export function readCallSearch(search: Record<string, unknown>): CallSearch {
  const found: CallSearch = readTexts(search, ["channel", "key", "tool", "call"]);
  const outcome = OUTCOMES.find((one) => one === search.outcome);
  return outcome ? { ...found, outcome } : found;
}

export const READING_TOOLS = [
  "find_conversations",
  "read_conversation",
  "search_messages",
  "find_contacts",
  "find_orders",
  "list_labels",
  "list_templates",
  "preview_template",
  "get_channel",
  "trace_message",
  "list_drafts",
  "get_file",
];
export const CHANGING_TOOLS = [
  "send_text",
  "send_template",
  "send_media",
  "mark_read",
  "set_labels",
  "update_conversation",
  "hand_over",
];
