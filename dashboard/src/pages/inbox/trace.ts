import type { Trace } from "./queries";

export type TraceLine = {
  at: string;
  title: string;
  text: string | null;
  look: "good" | "bad" | "wait" | "plain";
  webhook: boolean;
};

const TITLES: Record<string, [string, TraceLine["look"]]> = {
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

/** Everything that happened to a message, in the order of time: its steps, and each attempt to tell an endpoint. */
export function timeline({ steps, events }: Pick<Trace, "steps" | "events">): TraceLine[] {
  const lines: TraceLine[] = steps.map((step) => {
    const [title, look] = TITLES[step.step] ?? [step.step, "plain"];
    return { at: step.at, title, text: stepText(step), look, webhook: false };
  });
  for (const { event, deliveries } of events) {
    for (const { attempts } of deliveries) {
      for (const attempt of attempts) {
        lines.push({
          at: attempt.at,
          title: attempt.error ? "Webhook failed" : "Webhook delivered",
          text: `${eventName(event)} to ${attempt.url}: ${attempt.error ?? `status ${attempt.status}`} in ${Math.round(attempt.latency_ms)} ms${attempt.number > 1 ? `, attempt ${attempt.number}` : ""}`,
          look: attempt.error ? "bad" : "good",
          webhook: true,
        });
      }
    }
  }
  return lines.toSorted((a, b) => a.at.localeCompare(b.at));
}

function eventName(event: Record<string, unknown>): string {
  const data = event.data as { status?: unknown } | undefined;
  const status = event.type === "ack_notification" && data?.status ? ` ${data.status}` : "";
  return `${event.type}${status}`;
}

function stepText(step: Trace["steps"][number]): string | null {
  if (step.because) return step.because;
  const reason = step.reason as { title?: string; details?: string } | null | undefined;
  if (reason?.title) return [reason.title, reason.details].filter(Boolean).join(": ");
  return step.attempt && step.attempt > 1 ? `Attempt ${step.attempt}` : null;
}
