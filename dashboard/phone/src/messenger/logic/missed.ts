/** Messages that arrived while their chat was not looked at: also those that a simulated person has read already. */

import { computed, signal } from "@preact/signals";
import { chatKey, chats } from "../../shared/store";
import type { Chat } from "../../shared/types";

const missed = signal<ReadonlyMap<string, number>>(new Map()); // by chat

/** Count a message that arrived unseen. */
export function noteMissed(chat: Chat): void {
  const key = chatKey(chat.person, chat.number.id);
  missed.value = new Map(missed.value).set(key, (missed.value.get(key) ?? 0) + 1);
}

/** Forget the count of a chat that is looked at. */
export function clearMissed(person: string, number: string): void {
  const key = chatKey(person, number);
  if (!missed.peek().has(key)) return;
  const rest = new Map(missed.value);
  rest.delete(key);
  missed.value = rest;
}

/** Return how many messages of a chat are new to the one at the screen. */
export function newCount(chat: Chat): number {
  return Math.max(chat.unread, missed.value.get(chatKey(chat.person, chat.number.id)) ?? 0);
}

/** The new messages of all chats that the page knows. */
export const allNew = computed(() => [...chats.value.values()].reduce((sum, chat) => sum + newCount(chat), 0));

/** Return the title of the page. */
export function pageTitle(count: number, name: string): string {
  return `${count ? `(${count}) ` : ""}${name ? `${name} – ` : ""}Gatepost phone`;
}
