/** The fault rules: what each fault does, its own fields, and the request that adds a rule. */

import type { Request } from "./curl";
import { compact, numberOf, wordsOf } from "./values";

export interface FaultKind {
  of: "sends" | "updates";
  explanation: string;
  fields: string[];
}

export const FAULTS: Record<string, FaultKind> = {
  refuse: { of: "sends", explanation: "Refused with an error code.", fields: ["code", "status", "details"] },
  http_error: { of: "sends", explanation: "A plain HTTP error without JSON.", fields: ["status", "details"] },
  drop: { of: "sends", explanation: "The connection is cut; nothing was accepted.", fields: [] },
  accept_drop: { of: "sends", explanation: "Accepted, then the connection is cut.", fields: [] },
  accept_hang: { of: "sends", explanation: "Accepted; the answer comes later.", fields: ["seconds"] },
  fail: { of: "sends", explanation: "Accepted, then failed with a code.", fields: ["code", "details"] },
  hold: { of: "sends", explanation: "A template is held, then released or dropped.", fields: ["seconds", "drop"] },
  suppress: { of: "updates", explanation: "The update is never posted.", fields: [] },
  drop_echo: { of: "updates", explanation: "The update has no biz_opaque_callback_data.", fields: [] },
  delay: { of: "updates", explanation: "The update is posted late.", fields: ["seconds"] },
  duplicate: { of: "updates", explanation: "The update is posted several times.", fields: ["copies"] },
  reorder: {
    of: "updates",
    explanation: "Updates are held, then posted last come first.",
    fields: ["hold", "seconds"],
  },
};

export interface RuleDraft {
  fault: string;
  phone_number_id: string;
  to: string;
  labels: string;
  types: string;
  link: string;
  nth: string;
  every: string;
  probability: string;
  times: string;
  code: string;
  status: string;
  details: string;
  seconds: string;
  copies: string;
  hold: string;
  lasts: string;
  drop: boolean;
}

const NUMBERS = [
  "nth",
  "every",
  "probability",
  "times",
  "code",
  "status",
  "seconds",
  "copies",
  "hold",
  "lasts",
] as const;
const GENERAL = ["nth", "every", "probability", "times", "lasts"];

/** Returns the request that adds the rule; fields of other faults are left out. */
export function buildRule(draft: RuleDraft): Request {
  const kind = FAULTS[draft.fault];
  const used = (name: string) => GENERAL.includes(name) || kind?.fields.includes(name);
  const numbers = NUMBERS.filter(used).map((name) => [name, numberOf(name, draft[name])] as const);
  const body = compact({
    fault: draft.fault,
    phone_number_id: draft.phone_number_id,
    to: draft.to.trim(),
    labels: kind?.of === "updates" ? wordsOf(draft.labels) : undefined,
    types: kind?.of === "sends" ? wordsOf(draft.types) : undefined,
    link: kind?.of === "sends" ? draft.link.trim() : undefined,
    ...Object.fromEntries(numbers),
    details: used("details") ? draft.details : undefined,
    drop: (used("drop") && draft.drop) || undefined,
  });
  return { method: "POST", path: "faults", body };
}
