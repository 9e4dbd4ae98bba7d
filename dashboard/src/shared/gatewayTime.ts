const SLACK_MS = 10_000; // an answer takes a moment

let ahead = 0;

/** Keeps how far the gateway's clock is ahead of the browser's, which may be wrong. A sandbox can move the gateway's. */
export function noteGatewayTime(now: string, here = Date.now()): void {
  const difference = Date.parse(now) - here;
  ahead = Math.abs(difference) > SLACK_MS ? difference : 0;
}

/** The time by the gateway's clock, in milliseconds. It decides what may be sent, and when something happened. */
export function gatewayNow(here = Date.now()): number {
  return here + ahead;
}
