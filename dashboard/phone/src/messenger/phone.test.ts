import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Send } from "./types";

const ORDER: Send = { type: "order", target: null, catalog_id: "bakery", items: [] };

let answers: (() => void)[] = [];

beforeEach(() => {
  answers = [];
  vi.stubGlobal("location", { hash: "" });
  vi.stubGlobal("addEventListener", () => {});
  vi.stubGlobal("fetch", () => new Promise((answer) => answers.push(() => answer(Response.json({ id: "m", seq: 1 })))));
});
afterEach(() => vi.unstubAllGlobals());

test("what is sent by two clicks is sent once", async () => {
  const { OpenChat, PhoneState } = await import("./phone");
  const chat = new OpenChat(new PhoneState("5511"), "100");
  const both = Promise.all([chat.send(ORDER), chat.send(ORDER)]);
  expect(answers).toHaveLength(1);
  answers[0]?.();
  expect(await both).toEqual([true, true]);
  const again = chat.send(ORDER); // the first was answered: this is another one
  expect(answers).toHaveLength(2);
  answers[1]?.();
  expect(await again).toBe(true);
});
