import type { GatewayEvent } from "./follow";

const ECHO_MS = 15_000;
const BY_PEOPLE = new Set(["endpoint_resumed", "endpoint_disabled", "endpoint_enabled"]);

const changed = new Map<string, number>();

/** Remembers that something is changed on this page: the event that reports it is not shown here. */
export function expectOwnChange(id: string, now = Date.now()): void {
  changed.set(id, now + ECHO_MS);
}

/** Whether an event reports what was just changed on this page. What the gateway decides after failures never is. */
export function isOwnChange({ action, data }: GatewayEvent, now = Date.now()): boolean {
  return BY_PEOPLE.has(action) && !data.failures && (changed.get(String(data.id)) ?? 0) > now;
}
