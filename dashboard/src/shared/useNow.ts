import { useSyncExternalStore } from "react";
import { gatewayNow } from "./gatewayTime";

const TICK_MS = 5_000;
const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(tick, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

function tick(): void {
  now = Date.now();
  for (const listener of listeners) listener();
}

/** The time by the gateway's clock, in milliseconds; one timer for all that show how long ago something was. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => gatewayNow(now));
}
