/** The message that is replied to: what the form shows of it. */
export type ReplyTo = { id: string; own: boolean; words: string };

/** A text that was not sent yet. `key` belongs to an attempt to send `sent`, which may have reached the gateway. */
export type UnsentText = { text: string; replyTo?: ReplyTo; key?: string; sent?: string };

const PREFIX = "gatepost.draft.";

/** The id of the text that is stored under a key of the browser's storage, if it is one. */
export function storedId(key: string | null): string | null {
  return key?.startsWith(PREFIX) ? key.slice(PREFIX.length) : null;
}

export function readText(storage: Storage, id: string): UnsentText {
  try {
    const found: unknown = JSON.parse(storage.getItem(PREFIX + id) ?? "null");
    if (typeof found === "object" && found !== null && "text" in found && typeof found.text === "string") {
      return found as UnsentText;
    }
  } catch {
    // Something else wrote there; an unsent text is not worth an error.
  }
  return { text: "" };
}

/** Keeps a text, so that it is there after another conversation was opened or the page was loaded again. */
export function keepText(storage: Storage, id: string, unsent: UnsentText): void {
  try {
    if (unsent.text || unsent.replyTo || unsent.key) storage.setItem(PREFIX + id, JSON.stringify(unsent));
    else storage.removeItem(PREFIX + id);
  } catch {
    // The storage is full or switched off: the text is still in the field.
  }
}

/** The key of a send: the same text after a failure has the same key, so that it is never sent twice. */
export function keyFor(unsent: UnsentText, text: string, makeKey: () => string): string {
  return unsent.key && unsent.sent === text ? unsent.key : makeKey();
}

/** What is left of a text after its beginning was sent: what was typed meanwhile. A text that was rewritten stays. */
export function afterSending(text: string, sent: string): string {
  return text.startsWith(sent) ? text.slice(sent.length).trimStart() : text;
}
