import { FrameReader } from "./frames";

/** An event of the gateway, as in webhooks. What it is about is in `data`. */
export type GatewayEvent = {
  id: string;
  type: string;
  action: string;
  channel: { id: string; kind: string; phone: string };
  data: Record<string, unknown>;
};

/** A change that is not an event, such as `channel_changed`. */
export type Notice = { name: string; data: Record<string, unknown> };

/** `lost`: it is tried again; `ended`: the gateway does not allow it. A session that has ended does not come back. */
export type LiveStatus = "connecting" | "live" | "lost" | "ended";

/** What a stream has brought. `before`: what happened shortly before it began, and may be known already. */
export type Part = { events: GatewayEvent[]; notices: Notice[]; before: boolean };

export type Listener = {
  onPart: (part: Part, cursor: string | null) => void;
  /** `missed`: how many events came after a lost connection; null: too many, so that everything is loaded again. */
  onStatus: (status: LiveStatus, missed?: number | null) => void;
};

const STREAM = "/api/v1/account/stream";
const BACK_S = 10; // a stream without a cursor begins a little earlier than the page, so that nothing falls in between
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;
const AWAY_MS = 10 * 60_000; // after a longer time, loading everything is cheaper than all events
const MISSED_MAX = 500;
const REFUSED = new Set([401, 402, 403, 404]);
const ENDED = 401; // for good; a suspension, for example, ends some day

/**
 * Follows the events of the account until it is aborted or refused. After a lost connection it goes on behind the last
 * cursor, so that nothing is missed.
 */
export async function followAccount(start: string | null, listener: Listener, signal: AbortSignal): Promise<void> {
  const position: Position = { cursor: start, since: Date.now(), seen: new Set(), reset: false };
  let failures = 0;
  let lostAt: number | null = start === null ? null : Date.now();
  while (!signal.aborted) {
    if (lostAt !== null && Date.now() - lostAt > AWAY_MS) forget(position);
    const ready = { was: false };
    try {
      await readStream(position, listener, signal, () => {
        ready.was = true;
        lostAt = null;
      });
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refused) {
        listener.onStatus("ended");
        if (error.status === ENDED) return;
        lostAt ??= Date.now();
        await pause(LONGEST_WAIT_MS, signal);
        continue;
      }
      if (error instanceof TooFar) {
        forget(position);
        continue;
      }
    }
    if (signal.aborted) return;
    lostAt ??= Date.now();
    listener.onStatus("lost");
    failures = ready.was ? 0 : failures + 1;
    await pause(Math.min(FIRST_WAIT_MS * 2 ** failures, LONGEST_WAIT_MS), signal);
  }
}

/**
 * How far the events were read; `since`: the time from which they are needed, if there is no cursor; `seen`: those
 * behind the cursor; `reset`: everything has to be loaded again.
 */
type Position = { cursor: string | null; since: number; seen: Set<string>; reset: boolean };

function forget(position: Position): void {
  position.cursor = null;
  position.since = Date.now();
  position.seen.clear();
  position.reset = true;
}

class Refused extends Error {
  constructor(readonly status: number) {
    super();
  }
}
class TooFar extends Error {}

async function readStream(position: Position, listener: Listener, signal: AbortSignal, onReady: () => void) {
  const silence = new Silence();
  try {
    const answer = await fetch(position.cursor ? STREAM : `${STREAM}?back=${BACK_S}`, {
      headers: position.cursor ? { "Last-Event-ID": position.cursor } : {},
      signal: AbortSignal.any([signal, silence.signal]),
    });
    if (answer.status === 400 && position.cursor) throw new TooFar(); // the gateway does not know this cursor any more
    if (REFUSED.has(answer.status)) throw new Refused(answer.status);
    if (!answer.ok || !answer.body) return;
    const resumed = position.cursor !== null;
    // An answer that took longer than the stream goes back may leave a gap.
    if (!resumed && Date.now() - position.since > BACK_S * 1_000) position.reset = true;
    const frames = new FrameReader();
    const body = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let live = false;
    let missed = 0;
    for (;;) {
      const { done, value } = await body.read();
      if (done) return;
      silence.end();
      const part: Part = { events: [], notices: [], before: !live && !resumed };
      for (const { id, type, data } of frames.read(value)) {
        if (type && data && type !== "ready") addTo(part, position, type, data);
        if (id) {
          position.cursor = id;
          if (type) position.seen.clear(); // not by the opening, which names the cursor that was sent
        }
        if (type === "ready" && data) {
          silence.allow(JSON.parse(data).heartbeat);
          flush(part, position, listener);
          live = true;
          onReady();
          listener.onStatus("live", position.reset ? null : resumed ? missed + part.events.length : 0);
          position.reset = false;
          part.events = [];
          part.notices = [];
          part.before = false;
        }
      }
      if (!live) missed += part.events.length;
      flush(part, position, listener);
      if (!live && resumed && missed > MISSED_MAX) throw new TooFar();
    }
  } finally {
    silence.end();
    silence.abort();
  }
}

function addTo(part: Part, position: Position, type: string, data: string): void {
  const content = JSON.parse(data);
  if (!type.includes("_notification")) {
    part.notices.push({ name: type, data: content });
  } else if (!position.seen.has(content.id)) {
    position.seen.add(content.id);
    part.events.push(content);
  }
}

function flush(part: Part, position: Position, listener: Listener): void {
  if (part.events.length || part.notices.length) listener.onPart({ ...part }, position.cursor);
}

/** Ends a connection over which not even heartbeats come, or whose browser went offline. */
class Silence {
  private readonly control = new AbortController();
  private longest = 40_000;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    this.end();
    addEventListener("offline", this.cut);
  }

  get signal(): AbortSignal {
    return this.control.signal;
  }

  /** Something came. */
  end(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.control.abort(), this.longest);
  }

  /** Heartbeats come every so many seconds. */
  allow(seconds: number): void {
    this.longest = seconds * 2_000 + 10_000;
    this.end();
  }

  abort(): void {
    clearTimeout(this.timer);
    removeEventListener("offline", this.cut);
    this.control.abort();
  }

  private readonly cut = () => this.control.abort();
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
