import { followAccount, type Listener, type LiveStatus, type Part } from "./follow";

type Note =
  | { kind: "part"; part: Part; cursor: string | null }
  | { kind: "status"; status: LiveStatus; missed: number | null | undefined }
  | { kind: "hello" };

const cursors = new Map<string, string | null>(); // of each user, for a stream that begins again

/**
 * Follows the events of the account, with one connection for all tabs of the browser, which allows only six per host.
 *
 * Every tab asks for the same lock. The one that holds it is connected and passes everything on to the others; when it
 * is closed, the next one gets the lock and goes on behind the last cursor that was passed on. Where a browser has no
 * locks (a page without HTTPS), each tab that is visible has a connection of its own.
 */
export function shareStream(user: string, listener: Listener): () => void {
  const ended = new AbortController();
  const received: Listener = {
    onPart: (part, cursor) => {
      cursors.set(user, cursor);
      listener.onPart(part, cursor);
    },
    onStatus: listener.onStatus,
  };
  if (!navigator.locks || typeof BroadcastChannel === "undefined") {
    void followWhileVisible(user, received, ended.signal);
    return () => ended.abort();
  }
  const name = `gatepost.live.${user}`;
  const tabs = new BroadcastChannel(name);
  let current: LiveStatus = "connecting";
  let leader = false;
  const post = (note: Note) => tabs.postMessage(note);
  const passStatus: Listener["onStatus"] = (status, missed) => {
    current = status;
    received.onStatus(status, missed);
  };
  tabs.onmessage = ({ data: note }: MessageEvent<Note>) => {
    if (note.kind === "hello") {
      if (leader) post({ kind: "status", status: current, missed: 0 });
    } else if (note.kind === "part") received.onPart(note.part, note.cursor);
    else passStatus(note.status, note.missed);
  };
  post({ kind: "hello" });
  const leading: Listener = {
    onPart: (part, cursor) => {
      received.onPart(part, cursor);
      post({ kind: "part", part, cursor });
    },
    onStatus: (status, missed) => {
      passStatus(status, missed);
      post({ kind: "status", status, missed });
    },
  };
  navigator.locks
    .request(name, { signal: ended.signal }, () => {
      leader = true;
      return followAccount(cursors.get(user) ?? null, leading, ended.signal);
    })
    .catch(() => {}); // aborted while it waited for the lock
  return () => {
    ended.abort();
    tabs.close();
  };
}

async function followWhileVisible(user: string, listener: Listener, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const hidden = new AbortController();
    const watch = () => document.hidden && hidden.abort();
    document.addEventListener("visibilitychange", watch);
    await followAccount(cursors.get(user) ?? null, listener, AbortSignal.any([signal, hidden.signal]));
    document.removeEventListener("visibilitychange", watch);
    if (!hidden.signal.aborted) return; // refused
    await visible(signal);
  }
}

function visible(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look, { once: true });
    look();
  });
}
