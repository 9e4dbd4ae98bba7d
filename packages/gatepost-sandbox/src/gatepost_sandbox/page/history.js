// The ledger, read from a cursor and grouped into chats.

import { control } from "/page/api.js";

const FIRST_LOOK = 2000;
const PAGE = 1000;
const KEPT = 300;

let cursor = null;
let chats = new Map();
let statuses = new Map();

/** Reads on; true when there was something new. */
export async function readOn() {
  const { last_seq: last } = await control("GET", "ledger/summary");
  if (cursor === null || last < cursor) {
    cursor = Math.max(0, last - FIRST_LOOK);
    chats = new Map();
    statuses = new Map();
    if (last === 0) return true;
  }
  if (last === cursor) return false;
  let next = cursor;
  while (next !== null) {
    const page = await control("GET", `ledger?after=${next}&limit=${PAGE}`);
    page.entries.forEach(take);
    next = page.next;
  }
  return true;
}

/** The people a number has talked with, the latest first. */
export function peopleOf(number) {
  const found = [...chats.values()].filter((chat) => chat.number === number);
  return found.sort((a, b) => b.last - a.last);
}

/** What went between a number and a person, oldest first, each message with how far it came. */
export function messagesOf(number, person) {
  const chat = chats.get(`${number} ${person}`);
  return (chat ? chat.messages : []).map((entry) => ({ ...entry, state: statuses.get(entry.wamid) || "" }));
}

function take(entry) {
  cursor = entry.seq;
  if (entry.kind === "callback") {
    if (entry.http_status === 200) entry.updates.forEach(([wamid, label]) => statuses.set(wamid, label));
  } else if (entry.kind === "read") {
    statuses.set(entry.message_id, entry.typing ? "read, and typing" : "read");
  } else {
    keep(entry, entry.kind === "incoming" ? entry.from : entry.to);
  }
}

function keep(entry, person) {
  const key = `${entry.phone_number_id} ${person}`;
  const chat = chats.get(key) || { number: entry.phone_number_id, person, messages: [], last: 0 };
  chat.messages.push(entry);
  if (chat.messages.length > KEPT) chat.messages.shift();
  chat.last = entry.seq;
  chats.set(key, chat);
}
