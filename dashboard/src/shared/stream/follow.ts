import { FrameReader } from "./frames";

/** An event of the gateway, as in webhooks. What it is about is in `data`. */
export type GatewayEvent = {
  id: string;
  type: string;
  action: string;
  channel?: { kind: string };
  data: Record<string, unknown>;
};

export type StreamState = "connecting" | "live" | "lost" | "refused";

export type Listener = {
  onEvents: (events: GatewayEvent[], last: string) => void;
  onState: (state: StreamState) => void;
};

const SILENCE_MS = 40_000; // the gateway sends a heartbeat every 15 seconds
const LONGEST_WAIT_MS = 15_000;

/**
 * Follows the events of a channel until it is aborted. After a lost connection it goes on behind the last event, so
 * that none is missed.
 */
export async function followEvents(channel: string, last: string | null, listener: Listener, signal: AbortSignal) {
  let reached = last;
  let failures = 0;
  while (!signal.aborted) {
    const opened = Date.now();
    try {
      await readStream(channel, reached, signal, listener, (id) => {
        reached = id;
      });
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof StreamRefused) {
        listener.onState("refused");
        return;
      }
    }
    if (signal.aborted) return;
    listener.onState("lost");
    failures = Date.now() - opened > SILENCE_MS ? 0 : failures + 1;
    await pause(Math.min(500 * 2 ** failures, LONGEST_WAIT_MS), signal);
  }
}

class StreamRefused extends Error {}

async function readStream(
  channel: string,
  last: string | null,
  signal: AbortSignal,
  listener: Listener,
  onReached: (id: string) => void,
): Promise<void> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), SILENCE_MS);
  try {
    const answer = await fetch(`/api/v1/events/stream?channel=${encodeURIComponent(channel)}`, {
      headers: last ? { "Last-Event-ID": last } : {},
      signal: AbortSignal.any([signal, silence.signal]),
    });
    if (answer.status === 401 || answer.status === 403 || answer.status === 404) throw new StreamRefused();
    if (!answer.ok || !answer.body) return;
    const frames = new FrameReader();
    const body = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let live = false;
    for (;;) {
      const { done, value } = await body.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_MS);
      const events: GatewayEvent[] = [];
      let reached: string | null = null;
      for (const frame of frames.read(value)) {
        if (frame.data) events.push(JSON.parse(frame.data));
        if (frame.id) reached = frame.id;
      }
      if (reached) {
        onReached(reached);
        listener.onEvents(events, reached);
      }
      if (!live) listener.onState("live");
      live = true;
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Waits, but not longer than until the browser is online or visible again. */
function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      document.removeEventListener("visibilitychange", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    addEventListener("online", done);
    document.addEventListener("visibilitychange", done);
    signal.addEventListener("abort", done, { once: true });
  });
}
