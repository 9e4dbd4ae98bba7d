import { followEvents, type GatewayEvent, type Listener, type StreamState } from "./follow";

type Note =
  | { kind: "events"; events: GatewayEvent[]; last: string }
  | { kind: "state"; state: StreamState }
  | { kind: "hello" };

/**
 * Follows the events of a channel, with one connection for all tabs of the browser, which allows only six per host.
 *
 * Every tab asks for the same lock. The one that holds it is connected and passes everything on to the others; when it
 * is closed, the next one gets the lock and goes on behind the last event that was passed on.
 */
export function shareEvents(channel: string, listener: Listener): () => void {
  const name = `gatepost.stream.${channel}`;
  const air = new BroadcastChannel(name);
  const ended = new AbortController();
  let last: string | null = null;
  let state: StreamState = "connecting";
  let leader = false;
  const say = (note: Note) => air.postMessage(note);
  const hear: Listener = {
    onEvents: (events, reached) => {
      last = reached;
      if (events.length) listener.onEvents(events, reached);
    },
    onState: (next) => {
      state = next;
      listener.onState(next);
    },
  };
  air.onmessage = ({ data: note }: MessageEvent<Note>) => {
    if (note.kind === "hello") {
      if (leader) say({ kind: "state", state });
    } else if (note.kind === "events") hear.onEvents(note.events, note.last);
    else hear.onState(note.state);
  };
  say({ kind: "hello" });
  navigator.locks
    .request(name, { signal: ended.signal }, async () => {
      leader = true;
      const tell: Listener = {
        onEvents: (events, reached) => {
          hear.onEvents(events, reached);
          say({ kind: "events", events, last: reached });
        },
        onState: (next) => {
          hear.onState(next);
          say({ kind: "state", state: next });
        },
      };
      await followEvents(channel, last, tell, ended.signal);
    })
    .catch(() => {}); // aborted while it waited for the lock
  return () => {
    ended.abort();
    air.close();
  };
}
