import { duration } from "../times";
import type { Trace } from "./queries";

export type TraceItem = {
  key: string;
  at: string | null; // null: when is not known
  title: string;
  text: string | null;
  took: string | null; // "after 320 ms", "in 45 ms", "for 2 s"
  look: "good" | "bad" | "wait" | "plain";
  webhook: boolean;
  delivery: string | null; // in the log of deliveries
  expected: boolean; // has not happened yet
};

type Step = Trace["steps"][number];
type Delivery = Trace["events"][number]["deliveries"][number];

const TITLES: Record<string, [string, TraceItem["look"]]> = {
  received: ["Received", "good"],
  accepted: ["Accepted by the gateway", "plain"],
  sending: ["Handed to the network", "plain"],
  sent: ["Sent", "good"],
  delivered: ["Delivered", "good"],
  read: ["Read", "good"],
  played: ["Played", "good"],
  waited: ["Waited", "wait"],
  attempt_failed: ["An attempt failed", "bad"],
  failed: ["Failed", "bad"],
  expired: ["Expired", "bad"],
  canceled: ["Canceled", "bad"],
};

/** Whether the message or a delivery of its events waits. */
export function isWaiting({ waiting, events }: Pick<Trace, "waiting" | "events">): boolean {
  return waiting !== null || events.some(({ deliveries }) => deliveries.some(({ state }) => state === "pending"));
}

/** What happened to a message and what is expected, in the order of time: its steps, and each webhook attempt. */
export function timeline({ steps, events, waiting }: Pick<Trace, "steps" | "events" | "waiting">): TraceItem[] {
  const done = [...steps.map(stepItem), ...events.flatMap(({ event, deliveries }) => attemptItems(event, deliveries))];
  const past = done.toSorted((a, b) => (a.at ?? "").localeCompare(b.at ?? ""));
  const expected = events.flatMap(({ event, deliveries }) => deliveries.flatMap((one) => pendingItem(event, one)));
  const now: TraceItem[] = waiting
    ? [{ ...PLAIN, key: "waiting", at: waiting.until, title: "Waits now", text: waiting.because, look: "wait" }]
    : [];
  return [...past, ...now.map((one) => ({ ...one, expected: true })), ...expected];
}

const PLAIN = { took: null, webhook: false, delivery: null, expected: false };

function stepItem(step: Step, index: number, steps: Step[]): TraceItem {
  const [title, look] = TITLES[step.step] ?? [step.step, "plain"];
  return {
    ...PLAIN,
    key: `step ${index}`,
    at: step.at,
    title,
    text: stepText(step),
    look,
    took: took(step, steps[index - 1]),
  };
}

function took(step: Step, before: Step | undefined): string | null {
  if (step.step === "waited") return step.until ? `for ${duration(between(step.at, step.until))}` : null;
  return before ? `after ${duration(between(before.at, step.at))}` : null;
}

function between(from: string, to: string): number {
  return Math.max(0, Date.parse(to) - Date.parse(from));
}

function stepText(step: Step): string | null {
  if (step.because) return step.because;
  const reason = step.reason as { title?: string; details?: string } | null | undefined;
  if (reason?.title) return [reason.title, reason.details].filter(Boolean).join(": ");
  return step.attempt && step.attempt > 1 ? `Attempt ${step.attempt}` : null;
}

function attemptItems(event: Record<string, unknown>, deliveries: Delivery[]): TraceItem[] {
  return deliveries.flatMap(({ id, attempts }) =>
    attempts.map((attempt) => {
      const answer = attempt.error ?? `Status ${attempt.status}`;
      const again = attempt.number > 1 ? `, attempt ${attempt.number}` : "";
      return {
        ...PLAIN,
        key: `${id} ${attempt.number}`,
        at: attempt.at,
        title: attempt.error ? "Webhook failed" : "Webhook delivered",
        text: `${eventName(event)} to ${attempt.url}${again}: ${answer}`,
        took: `in ${duration(attempt.latency_ms)}`,
        look: attempt.error ? "bad" : "good",
        webhook: true,
        delivery: id,
      } as const;
    }),
  );
}

/** A delivery that is still to be made. */
function pendingItem(event: Record<string, unknown>, { id, state, next_at, attempts }: Delivery): TraceItem[] {
  if (state !== "pending") return [];
  const title = attempts.length ? "Webhook is tried again" : "Webhook waits";
  const text = attempts.at(-1)?.url ? `${eventName(event)} to ${attempts.at(-1)?.url}` : eventName(event);
  return [
    {
      ...PLAIN,
      key: `${id} next`,
      at: next_at,
      title,
      text,
      look: "wait",
      webhook: true,
      delivery: id,
      expected: true,
    },
  ];
}

function eventName(event: Record<string, unknown>): string {
  const data = event.data as { status?: unknown } | undefined;
  const status = event.type === "ack_notification" && data?.status ? ` ${data.status}` : "";
  return `${event.type}${status}`;
}
