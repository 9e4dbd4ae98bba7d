/** The live feed of the sandbox: one connection per page, opened again whenever it is lost. */

import { signal } from "@preact/signals";
import { ApiError } from "./api";
import { eventReader } from "./events";

export type Connection = "connecting" | "open" | "lost";
export type Listener = (event: string, data: unknown) => void;

export const connection = signal<Connection>("connecting");
export const lostBecause = signal("");

const SILENCE = 40_000; // ms: the sandbox sends a heartbeat every 15 s
const LONGEST_WAIT = 10_000; // ms

/** Returns the time in ms before the next attempt: 0.5 s, 1 s, 2 s … 10 s, spread by a quarter. */
export function waitBefore(attempt: number, random = Math.random()): number {
  return Math.min(500 * 2 ** attempt, LONGEST_WAIT) * (0.75 + random / 2);
}

/** Follows `/control/feed` with a query until the returned function is called. */
export function follow(query: string, listener: Listener): () => void {
  const stop = new AbortController();
  run(query, listener, stop.signal);
  return () => stop.abort();
}

async function run(query: string, listener: Listener, stop: AbortSignal): Promise<void> {
  for (let attempt = 0; !stop.aborted; attempt++) {
    try {
      await read(query, stop, (event, data) => {
        if (event === "ready") {
          attempt = 0;
          connection.value = "open";
        }
        listener(event, data);
      });
      lostBecause.value = "The sandbox ended the connection.";
    } catch (error) {
      lostBecause.value = error instanceof ApiError ? error.message : "The sandbox does not answer.";
    }
    if (stop.aborted) return;
    connection.value = "lost";
    await pause(waitBefore(attempt), stop);
  }
}

async function read(query: string, stop: AbortSignal, listener: Listener): Promise<void> {
  const silent = new AbortController();
  let timer = setTimeout(() => silent.abort(), SILENCE);
  try {
    const response = await fetch(`/control/feed${query}`, {
      signal: AbortSignal.any([stop, silent.signal]),
      headers: { accept: "text/event-stream" },
      cache: "no-store",
    });
    if (!response.ok || !response.body) throw new ApiError(response.status, await reason(response));
    const next = eventReader();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(() => silent.abort(), SILENCE);
      for (const { event, data } of next(value)) listener(event, JSON.parse(data));
    }
  } finally {
    clearTimeout(timer);
  }
}

async function reason(response: Response): Promise<string> {
  const body = await response.json().catch(() => null);
  return typeof body?.error === "string" ? body.error : `The sandbox answered ${response.status}.`;
}

/** Waits, but not longer than until the network is back or the page is looked at again. */
function pause(milliseconds: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = new AbortController();
    const end = () => {
      clearTimeout(timer);
      done.abort();
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    stop.addEventListener("abort", end, { signal: done.signal });
    globalThis.addEventListener?.("online", end, { signal: done.signal });
  });
}
