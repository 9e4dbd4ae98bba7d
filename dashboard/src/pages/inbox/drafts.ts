/** A text that was not sent yet. `key` belongs to an attempt to send `sent`, which may have reached the gateway. */
export type Draft = { text: string; key?: string; sent?: string };

const PREFIX = "gatepost.draft.";

export function readDraft(storage: Storage, id: string): Draft {
  try {
    const found: unknown = JSON.parse(storage.getItem(PREFIX + id) ?? "null");
    if (typeof found === "object" && found !== null && "text" in found && typeof found.text === "string") {
      return found as Draft;
    }
  } catch {
    // Something else wrote there; a draft is not worth an error.
  }
  return { text: "" };
}

/** Keeps a draft, so that it is there after another conversation was opened or the page was loaded again. */
export function keepDraft(storage: Storage, id: string, draft: Draft): void {
  try {
    if (draft.text || draft.key) storage.setItem(PREFIX + id, JSON.stringify(draft));
    else storage.removeItem(PREFIX + id);
  } catch {
    // The storage is full or switched off: the text is still in the field.
  }
}

/** The key of a send: the same text after a failure has the same key, so that it is never sent twice. */
export function keyFor(draft: Draft, text: string, makeKey: () => string): string {
  return draft.key && draft.sent === text ? draft.key : makeKey();
}
