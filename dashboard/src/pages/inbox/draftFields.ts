import type { Draft, DraftMessage } from "./draftQueries";
import type { Message } from "./queries";

/** A text of a message that can be edited here. `path`: where it is in the message. */
export type DraftField = { path: (string | number)[]; label: string; value: string; lines: number; required: boolean };

type Json = Record<string, unknown>;

/** The request to send that a draft holds. */
export function requestOf(draft: Pick<Draft, "message">): DraftMessage {
  return draft.message as DraftMessage;
}

/** A draft as a message: the fields of a request are those of the content. */
export function asMessage(draft: Pick<Draft, "message">): Pick<Message, "type" | "content" | "deleted_at"> {
  const { type } = requestOf(draft);
  return { type: typeof type === "string" ? type : "text", content: draft.message, deleted_at: null };
}

const TEXTS = [
  { name: "body", label: "Text", lines: 3, required: true },
  { name: "caption", label: "Caption", lines: 2, required: false },
  { name: "footer", label: "Footer", lines: 1, required: false },
  { name: "filename", label: "File name", lines: 1, required: false },
];

/** The texts of a message. What has none, such as a location, cannot be edited here. */
export function editableFields(message: DraftMessage): DraftField[] {
  const texts = TEXTS.flatMap(({ name, ...field }) => {
    const value = message[name];
    return typeof value === "string" ? [{ path: [name], value, ...field }] : [];
  });
  return [...texts, ...variables(message.template)];
}

function variables(template: unknown): DraftField[] {
  const values = isObject(template) ? template.variables : null;
  const list: [string | number, unknown][] = Array.isArray(values)
    ? values.map((value, index) => [index, value])
    : Object.entries(isObject(values) ? values : {});
  return list.map(([name, value]) => ({
    path: ["template", "variables", name],
    label: `Value ${typeof name === "number" ? name + 1 : name}`,
    value: String(value),
    lines: 1,
    required: true,
  }));
}

/** The message with other texts, in the order of `editableFields`. Nothing else in it changes. */
export function withTexts(message: DraftMessage, texts: string[]): DraftMessage {
  const changed = structuredClone(message);
  editableFields(message).forEach(({ path }, index) => {
    const last = path.at(-1) ?? "";
    const place = path.slice(0, -1).reduce<Json>((inner, name) => inner[name] as Json, changed as Json);
    place[last] = texts[index] ?? "";
  });
  return changed;
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
