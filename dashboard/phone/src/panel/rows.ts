/** The rows of the ledger: which are shown, and their one line. */

import type { LedgerRow } from "../shared/types";

export const MOST = 500; // rows that are kept on the page

export const KINDS = [
  ["", "all"],
  ["accepted", "accepted: a send that was taken"],
  ["refused", "refused: a send that was not"],
  ["incoming", "incoming: from a person"],
  ["read", "read: marked by the business"],
  ["callback", "callback: posted to the business"],
] as const;

export interface LedgerFilter {
  kind: string;
  number: string;
  person: string; // digits, or the beginning of them
}

/** Adds a row to rows that are ordered latest first; each is kept once, and the oldest beyond the cap go. */
export function addRow(rows: LedgerRow[], row: LedgerRow): LedgerRow[] {
  const place = rows.findIndex((one) => one.seq <= row.seq);
  if (place >= 0 && rows[place]?.seq === row.seq) return rows;
  const at = place < 0 ? rows.length : place;
  return [...rows.slice(0, at), row, ...rows.slice(at)].slice(0, MOST);
}

export function matches(row: LedgerRow, filter: LedgerFilter): boolean {
  return (
    (!filter.kind || row.kind === filter.kind) &&
    (!filter.number || row.phone_number_id === filter.number) &&
    (!filter.person || personOf(row).startsWith(filter.person))
  );
}

/** Returns the phone of the person that a row is about. */
export function personOf(row: LedgerRow): string {
  return String(row.kind === "incoming" ? (row.from ?? "") : (row.to ?? ""));
}

export function look(row: LedgerRow): "" | "good" | "warn" | "bad" {
  if (row.kind === "refused") return "bad";
  if (row.kind === "callback") return row.http_status === 200 ? "" : "warn";
  return row.kind === "accepted" ? "good" : "";
}

/** Returns what happened in a few words. */
export function summaryOf(row: LedgerRow): string {
  if (row.kind === "refused")
    return [`HTTP ${row.http_status || "none"}`, row.code && `code ${row.code}`, row.details]
      .filter(Boolean)
      .join(" · ");
  if (row.kind === "callback") {
    const updates = Array.isArray(row.updates)
      ? row.updates.map((one) => (Array.isArray(one) ? one.at(-1) : one?.label))
      : [];
    return `${updates.join(", ")} → ${row.http_status ? `HTTP ${row.http_status}` : (row.error ?? "no answer")}`;
  }
  if (row.kind === "read") return row.typing ? "typing" : "marked as read";
  return [row.type, textOf(row.content)].filter(Boolean).join(" · ");
}

function textOf(content: unknown): string {
  const fields = (content ?? {}) as Record<string, unknown>;
  const text = fields.body ?? fields.caption ?? fields.name ?? fields.emoji ?? "";
  return typeof text === "string" ? text.slice(0, 200) : "";
}
