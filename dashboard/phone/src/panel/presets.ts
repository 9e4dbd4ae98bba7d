/** Faults that are switched on with one click. */

import type { Request } from "./curl";

export interface Preset {
  title: string;
  explanation: string;
  rules: Record<string, unknown>[];
}

const STATUSES = ["sent", "delivered", "read", "played", "failed"];

export const PRESETS: Preset[] = [
  {
    title: "The network answers 500",
    explanation: "Each send gets HTTP 500 and no JSON. Nothing is accepted.",
    rules: [{ fault: "http_error", status: 500 }],
  },
  {
    title: "Answers get lost",
    explanation: "Each send is accepted, then the connection is cut: the sender cannot know.",
    rules: [{ fault: "accept_drop" }],
  },
  {
    title: "Statuses arrive twice and out of order",
    explanation: "Each status is posted two times, in groups of six, the last first.",
    rules: [
      { fault: "duplicate", copies: 2, labels: STATUSES },
      { fault: "reorder", hold: 6, seconds: 5, labels: STATUSES },
    ],
  },
  {
    title: "Nothing arrives",
    explanation: "Statuses and messages of people are held back, and arrive a minute late.",
    rules: [{ fault: "delay", seconds: 60 }],
  },
  {
    title: "Callbacks are lost",
    explanation: "Statuses and messages of people are never posted.",
    rules: [{ fault: "suppress" }],
  },
  {
    title: "The number is throttled",
    explanation: "Each send is refused with 130429.",
    rules: [{ fault: "refuse", code: 130429 }],
  },
  {
    title: "Messages fail later",
    explanation: "Each send is accepted, and then reported as failed with 131000.",
    rules: [{ fault: "fail", code: 131000 }],
  },
  {
    title: "Answers are slow",
    explanation: "Each send is accepted at once, but its answer comes 30 seconds later.",
    rules: [{ fault: "accept_hang", seconds: 30 }],
  },
];

export const DURATIONS = [
  ["60", "for a minute"],
  ["600", "for 10 minutes"],
  ["3600", "for an hour"],
  ["", "until you remove it"],
] as const;

/** Returns the requests that switch a preset on, for one number or for all. */
export function requestsOf(preset: Preset, lasts: string, number: string): Request[] {
  const scope = { ...(number ? { phone_number_id: number } : {}), ...(lasts ? { lasts: Number(lasts) } : {}) };
  return preset.rules.map((rule) => ({ method: "POST", path: "faults", body: { ...rule, ...scope } }));
}

const HIDDEN = new Set(["id", "fault", "seen", "struck", "held", "ends_at", "lasts"]);
const DEFAULTS: Record<string, unknown> = { copies: 2, hold: 2, drop: false };

/** Returns what a rule is set to, in short: only what differs from the default. */
export function describeRule(rule: Record<string, unknown>): string {
  return Object.entries(rule)
    .filter(([name, value]) => !HIDDEN.has(name) && value !== null && value !== DEFAULTS[name])
    .map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(", ") : value}`)
    .join(" · ");
}
