import { afterEach, beforeEach, expect, it } from "vitest";
import { chats, putChat } from "../../shared/store";
import type { Chat } from "../../shared/types";
import { allNew, clearMissed, newCount, noteMissed, pageTitle } from "./missed";

const chat: Chat = {
  person: "5511999998888",
  name: "Ana",
  number: { id: "1", network: "official", phone: "15550001111", name: "Shop" },
  unread: 0,
  last: null,
  typing: false,
  presence: null,
  blocked: false,
  marketing_stopped: false,
  window_ends_at: null,
};

const forget = () => {
  chats.value = new Map();
};
beforeEach(forget); // other tests run in the same place
afterEach(forget);

it("counts what was not looked at, though it may be read already", () => {
  putChat(chat);
  noteMissed(chat);
  noteMissed(chat);
  expect([newCount(chat), allNew.value]).toEqual([2, 2]);
  expect(newCount({ ...chat, unread: 5 })).toBe(5);
  clearMissed(chat.person, chat.number.id);
  expect([newCount(chat), allNew.value]).toEqual([0, 0]);
});

it("puts the count into the title", () => {
  expect(pageTitle(0, "")).toBe("Gatepost phone");
  expect(pageTitle(2, "Ana")).toBe("(2) Ana – Gatepost phone");
});
