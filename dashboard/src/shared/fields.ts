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

/**
 * The values of a form, and what its inputs need: `<TextInput label="Name" {...text("name")} />`. The second argument
 * of `text`, `choice` and `checked` is the field of the API, where its name is another one.
 */
export function useFields<Values extends object>(initial: Values, error?: unknown) {
  const [values, setValues] = useState(initial);
  const change = (part: Partial<Values>) => setValues((before) => ({ ...before, ...part }));
  const put = (name: string, value: unknown) => change({ [name]: value } as Partial<Values>);
  return {
    values,
    change,
    text: (name: Named<Values, string>, field: string = name) => ({
      value: values[name] as string,
      onChange: (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => put(name, event.currentTarget.value),
      error: problemOf(error, field),
    }),
    checked: (name: Named<Values, boolean>) => ({
      checked: values[name] as boolean,
      onChange: (event: ChangeEvent<HTMLInputElement>) => put(name, event.currentTarget.checked),
    }),
    choice: <Name extends keyof Values & string>(name: Name, field: string = name) => ({
      value: values[name],
      onChange: (value: Values[Name]) => put(name, value),
      error: problemOf(error, field),
    }),
  };
}
