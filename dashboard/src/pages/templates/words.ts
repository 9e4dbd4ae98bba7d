import type { Look } from "../../shared/ui/StatusBadge";

const STATUSES: Record<string, Look> = {
  APPROVED: { label: "Approved", color: "teal" },
  PENDING: { label: "In review", color: "yellow" },
  IN_APPEAL: { label: "In appeal", color: "yellow" },
  REJECTED: { label: "Rejected", color: "red" },
  PAUSED: { label: "Paused", color: "orange" },
  DISABLED: { label: "Disabled", color: "red" },
};

export const FILTERED_STATUSES = Object.entries(STATUSES).map(([value, { label }]) => ({ value, label }));

/** How the status of a template looks. The network may have statuses that are not known here. */
export function statusLook(status: string): Look {
  return STATUSES[status] ?? { label: inPlainWords(status), color: "gray" };
}

const QUALITIES: Record<string, Look> = {
  GREEN: { label: "High quality", color: "teal" },
  YELLOW: { label: "Medium quality", color: "yellow" },
  RED: { label: "Low quality", color: "red" },
};

/** How the quality looks; null while the network has not rated it. */
export function qualityLook(quality: string | null): Look | null {
  return QUALITIES[quality ?? ""] ?? null;
}

/** "UTILITY" → "Utility", "INVALID_FORMAT" → "Invalid format". */
export function inPlainWords(word: string): string {
  const text = word.toLowerCase().replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const EDITABLE = ["APPROVED", "REJECTED", "PAUSED"];

/** Whether the network takes a change: a template in review cannot be edited. */
export function mayEdit(status: string): boolean {
  return EDITABLE.includes(status);
}
