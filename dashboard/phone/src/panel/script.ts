/** A person's script as rows of a form. What the form does not know is kept as it is, and shown as JSON. */

import type { Reply } from "../shared/types";
import { jsonOf, numberOf } from "./values";

export type Act = "text" | "tap" | "pick" | "react" | "json";

export interface Line {
  pattern: string;
  on: string;
  delay: string;
  times: string;
  act: Act;
  value: string; // of the action; the whole reply as JSON for "json"
}

export const ACTS = [
  ["text", "answers with the text"],
  ["tap", "taps the button"],
  ["pick", "chooses the row"],
  ["react", "reacts with"],
  ["json", "does this (JSON)"],
] as const;

export const NEW_LINE: Line = { pattern: "", on: "", delay: "1", times: "", act: "text", value: "" };
const SIMPLE = ["text", "tap", "pick", "react"] as const;

/** Returns the row of a reply. */
export function lineOf(reply: Reply): Line {
  const act = SIMPLE.find((name) => reply[name] !== undefined && reply[name] !== null && reply[name] !== "");
  return {
    pattern: reply.pattern ?? "",
    on: reply.on ?? "",
    delay: String(reply.delay ?? 1),
    times: reply.times === null || reply.times === undefined ? "" : String(reply.times),
    act: act ?? "json",
    value: act ? String(reply[act]) : JSON.stringify(shorten(reply)),
  };
}

/** Returns the reply of a row; an error says which row is wrong. */
export function replyOf(line: Line, place: number): Reply {
  const label = `Line ${place + 1}`;
  if (line.act === "json") return jsonOf(label, line.value) as Reply;
  if (!line.value.trim()) throw new Error(`${label}: type what the person does.`);
  const reply: Reply = {};
  if (line.pattern) reply.pattern = line.pattern;
  if (line.on.trim()) reply.on = line.on.trim();
  const delay = numberOf(`${label}, seconds`, line.delay);
  if (delay !== undefined && delay !== 1) reply.delay = delay;
  const times = numberOf(`${label}, times`, line.times);
  if (times !== undefined) reply.times = times;
  // The place of a button or row, counted from 0, is a number; ids and titles are texts.
  const place_ = (line.act === "tap" || line.act === "pick") && /^\d{1,2}$/.test(line.value);
  return { ...reply, [line.act]: place_ ? Number(line.value) : line.value };
}

/** Returns a reply without the fields that have their default. */
export function shorten(reply: Reply): Reply {
  const entries = Object.entries(reply).filter(
    ([name, value]) => value !== null && value !== "" && !(name === "delay" && value === 1),
  );
  return Object.fromEntries(entries);
}
