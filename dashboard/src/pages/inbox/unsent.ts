import { useCallback, useSyncExternalStore } from "react";
import { useSession } from "../../shared/session/queries";
import { inOneLine } from "./content";
import type { Message } from "./queries";
import { keepText, readText, storedId, type UnsentText } from "./unsentText";

export type Attached = { file: File; key: string; sendKey: string };
/** What was written in a conversation and is not sent yet. `problem`: why the last attempt to send it failed. */
export type Unsent = { written: UnsentText; files: Attached[]; problem: string | null; busy: boolean };

const LONGEST = 200; // characters that are shown of a message that is replied to

const known = new Map<string, Unsent>();
const watchers = new Map<string, Set<() => void>>();

/** It outlives the form, which is gone while another conversation is open. Texts outlive the page, too. */
export function readUnsent(id: string): Unsent {
  const one = known.get(id) ?? { written: readText(localStorage, id), files: [], problem: null, busy: false };
  known.set(id, one);
  return one;
}

export function changeUnsent(id: string, part: Partial<Unsent>): void {
  if (part.written) keepText(localStorage, id, part.written);
  show(id, part);
}

function show(id: string, part: Partial<Unsent>): void {
  known.set(id, { ...readUnsent(id), ...part });
  for (const watcher of watchers.get(id) ?? []) watcher();
}

/** The next message of the conversation replies to this one. */
export function replyTo(id: string, message: Message): void {
  const chosen = { id: message.key.id, own: message.direction === "out", words: inOneLine(message).slice(0, LONGEST) };
  changeUnsent(id, { written: { ...readUnsent(id).written, replyTo: chosen } });
}

/** Whether the conversation is open. */
export function isShown(id: string): boolean {
  return watchers.has(id);
}

function watch(id: string, watcher: () => void): () => void {
  const all = watchers.get(id) ?? new Set();
  watchers.set(id, all.add(watcher));
  return () => {
    all.delete(watcher);
    if (all.size === 0) watchers.delete(id);
  };
}

/** The id of what the person writes in a conversation. People may share a browser. */
export function useUnsentId(conversation: string): string {
  return `${useSession().user.id}.${conversation}`;
}

export function useUnsent(id: string): Unsent {
  const subscribe = useCallback((watcher: () => void) => watch(id, watcher), [id]);
  return useSyncExternalStore(subscribe, () => readUnsent(id));
}

/** Follows what another tab writes or sends: the same text must not be sent from both. */
window.addEventListener("storage", ({ key }) => {
  const id = storedId(key);
  if (id && known.has(id)) show(id, { written: readText(localStorage, id) });
});
