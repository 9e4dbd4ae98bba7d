import { type ChangeEvent, useState } from "react";
import { ApiProblem } from "./api/problem";

type Named<Values, Value> = { [Name in keyof Values]: Values[Name] extends Value ? Name : never }[keyof Values] &
  string;

/** What is wrong with one field of a request, if anything. */
export function problemOf(error: unknown, field: string): string | undefined {
  return error instanceof ApiProblem ? error.field(field) : undefined;
}

/** Whether one of these fields says what is wrong. */
export function isShownAt(error: unknown, fields: readonly string[]): boolean {
  return fields.some((field) => problemOf(error, field) !== undefined);
}

export function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** The fields of a form: `values` as they are edited, `before` as they were when the editing began. */
export type Edited<Values> = { values: Values; before: Values };

/** Takes over what others have changed meanwhile, except the fields that are edited here. */
export function follow<Values extends object>({ values, before }: Edited<Values>, now: Values): Edited<Values> {
  const isEdited = (name: string) => {
    const value = values[name as keyof Values];
    return !isSame(value, before[name as keyof Values]) && !isSame(value, now[name as keyof Values]);
  };
  const kept = (from: Values) => Object.fromEntries(Object.entries(from).filter(([name]) => isEdited(name)));
  return { values: { ...now, ...kept(values) }, before: { ...now, ...kept(before) } };
}

const LONGEST = 200; // characters that are shown of a value of somebody else

/** What to say at a field that is edited here and was changed by somebody else meanwhile; else nothing. */
export function overtaken<Value>(value: Value, before: Value, now: Value): string | undefined {
  const [mine, old, theirs] = [value, before, now].map(lettersOf);
  if (mine === old || theirs === old || theirs === mine) return undefined;
  const shown = typeof now === "string" || typeof now === "number" ? String(now).slice(0, LONGEST) : "";
  return `Somebody else has changed this meanwhile${shown && `, to “${shown}”`}. Saving replaces their change.`;
}

/** A value without spaces and punctuation, which the gateway may write in another way. */
function lettersOf(value: unknown): string {
  return (JSON.stringify(value) ?? "").replace(/[^\p{L}\p{N}]+/gu, "");
}

/**
 * The values of a form, and what its inputs need: `<TextInput label="Name" {...text("name")} />`. The second argument
 * of `text`, `choice` and `checked` is the field of the API, where its name is another one.
 *
 * `before` is for requests that contain only what was edited: others may change the rest at the same time. `isEdited`:
 * something was.
 */
export function useFields<Values extends object>(initial: Values, error?: unknown) {
  const [{ values, before, now }, setFields] = useState({ values: initial, before: initial, now: initial });
  if (!isSame(initial, now)) setFields({ ...follow({ values, before }, initial), now: initial });
  const change = (part: Partial<Values>) =>
    setFields((fields) => ({ ...fields, values: { ...fields.values, ...part } }));
  const problem = (name: keyof Values, field: string) =>
    problemOf(error, field) ?? overtaken(values[name], before[name], now[name]);
  const put = (name: string, value: unknown) => change({ [name]: value } as Partial<Values>);
  return {
    values,
    before,
    isEdited: !isSame(values, before),
    change,
    text: (name: Named<Values, string>, field: string = name) => ({
      value: values[name] as string,
      onChange: (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => put(name, event.currentTarget.value),
      error: problem(name, field),
    }),
    checked: (name: Named<Values, boolean>) => ({
      checked: values[name] as boolean,
      onChange: (event: ChangeEvent<HTMLInputElement>) => put(name, event.currentTarget.checked),
    }),
    choice: <Name extends keyof Values & string>(name: Name, field: string = name) => ({
      value: values[name],
      onChange: (value: Values[Name]) => put(name, value),
      error: problem(name, field),
    }),
    overtaken: (name: keyof Values) => overtaken(values[name], before[name], now[name]),
  };
}
