/** The chats that the page shows, kept current by the feed. */

import { batch, computed, effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { ApiError, get, messageOf, path } from "./api";
import { follow } from "./feed";
import { recent, refresh } from "./resources";
import { renamePerson, route } from "./route";
import type { Chat, LedgerRow, Message } from "./types";

const PAGE = 50; // messages

export const chats = signal<ReadonlyMap<string, Chat>>(new Map()); // by chatKey
export const chatsProblem = signal<Readonly<Record<string, string>>>({}); // by person: why the chats could not be read
export const chatsRead = signal<ReadonlySet<string>>(new Set()); // persons whose chats were read
const threads = new Map<string, Thread>();
const ledgerListeners = new Map<(row: LedgerRow) => void, () => void>(); // with what is called after a gap
const RUNG = 1000; // messages that are remembered
const rung = new Set<string>(); // ids of messages that have arrived
const rings = new Set<(chat: Chat, message: Message) => void>();

export function chatKey(person: string, number: string): string {
  return `${person}/${number}`;
}

/** Returns a person's chats, the latest first. */
export function chatsOf(person: string): Chat[] {
  return [...chats.value.values()].filter((chat) => chat.person === person).sort((a, b) => time(b) - time(a));
}

export function chatOf(person: string, number: string): Chat | null {
  return chats.value.get(chatKey(person, number)) ?? null;
}

/** The messages of one chat: the newest, and older ones when they are asked for. */
export class Thread {
  readonly messages: Signal<Message[] | null> = signal(null); // oldest first; null before the first answer
  readonly more = signal(false); // there are older ones
  readonly problem = signal("");
  readonly unknown = signal(false); // the sandbox does not know the number
  private epoch = 0;
  private readings = 0;
  private late: Message[] = []; // events that came while the messages were read

  constructor(
    readonly person: string,
    readonly number: string,
  ) {}

  /** Reads the newest messages. */
  async load(): Promise<void> {
    const epoch = ++this.epoch;
    const before = knownChat(this.person, this.number);
    try {
      const page = await this.page(`?limit=${PAGE}`);
      if (epoch === this.epoch) this.show(page, before);
    } catch (error) {
      if (epoch === this.epoch) this.fail(error);
    } finally {
      this.endReading();
    }
  }

  /** Reads the messages before the oldest that is shown. */
  async loadOlder(): Promise<void> {
    const oldest = this.messages.value?.[0];
    if (!oldest || !this.more.value) return;
    const epoch = this.epoch;
    try {
      const page = await this.page(`?limit=${PAGE}&before=${oldest.seq}`);
      if (epoch !== this.epoch) return;
      batch(() => {
        this.messages.value = merge(page.messages, [...(this.messages.value ?? []), ...this.lateOf(page)]);
        this.more.value = page.more;
      });
    } finally {
      this.endReading();
    }
  }

  /** Shows a message that is new or has changed. */
  put(message: Message): void {
    if (this.readings) this.late.push(message);
    const shown = this.messages.value;
    if (shown && isWithin(message, shown, this.more.value)) this.messages.value = merge(shown, [message]);
  }

  private page(query: string): Promise<Page> {
    this.readings += 1;
    return get(path`chats/${this.person}/${this.number}` + query);
  }

  private endReading(): void {
    this.readings -= 1;
    if (!this.readings) this.late = [];
  }

  private show(page: Page, before: Chat | undefined): void {
    batch(() => {
      putAnswer(page.chat, before);
      this.messages.value = merge(page.messages, this.lateOf(page));
      this.more.value = page.more;
      this.problem.value = "";
      this.unknown.value = false;
    });
  }

  private fail(error: unknown): void {
    batch(() => {
      this.problem.value = messageOf(error);
      this.unknown.value = error instanceof ApiError && error.status === 404;
      if (this.unknown.value) this.messages.value = null; // the sandbox was reset
    });
  }

  /** Returns the events that came while a page was read, and belong to it or to what is after it. */
  private lateOf({ messages, more }: Page): Message[] {
    return this.late.filter((message) => isWithin(message, messages, more));
  }
}

type Page = { chat: Chat; messages: Message[]; more: boolean };

/** Whether a message is not before all of these. If there are more, those between it and them are not known yet. */
function isWithin(message: Message, messages: Message[], more: boolean): boolean {
  return !more || message.seq >= (messages[0]?.seq ?? 0);
}

/** Returns the messages of a chat; the first time, they are read. */
export function threadOf(person: string, number: string): Thread {
  const key = chatKey(person, number);
  let thread = threads.get(key);
  if (!thread) {
    thread = new Thread(person, number);
    threads.set(key, thread);
    thread.load();
  }
  return thread;
}

/** Returns a chat as it is shown now. */
export function knownChat(person: string, number: string): Chat | undefined {
  return chats.peek().get(chatKey(person, number));
}

/** Shows a chat as an answer of the API returned it, unless the feed told of a newer one since the request began. */
export function putAnswer(chat: Chat, before: Chat | undefined): void {
  if (knownChat(chat.person, chat.number.id) === before) putChat(chat);
}

/** Shows a chat. */
export function putChat(chat: Chat): void {
  chats.value = new Map(chats.value).set(chatKey(chat.person, chat.number.id), chat);
}

/** Shows a message as an answer of the API returned it, before the feed tells of it. */
export function putMessage(person: string, number: string, message: Message): void {
  threads.get(chatKey(person, number))?.put(message);
}

/** Reads the chats of a person. A number that the network writes in another form gets that form in the address too. */
export async function loadChats(person: string): Promise<void> {
  const before = chats.peek();
  try {
    const query = `chats?person=${encodeURIComponent(person)}`;
    const { person: known, chats: found } = await get<{ person: string; chats: Chat[] }>(query);
    if (known !== person) {
      renamePerson(person, known);
      return await loadChats(known);
    }
    batch(() => {
      // What the feed told during the reading is newer than the answer.
      const kept = [...chats.value].filter(([key, chat]) => chat.person !== person || before.get(key) !== chat);
      chats.value = new Map([...found.map((chat) => [chatKey(person, chat.number.id), chat] as const), ...kept]);
      chatsRead.value = new Set([...chatsRead.value, person]);
      const { [person]: _, ...rest } = chatsProblem.value;
      chatsProblem.value = rest;
    });
  } catch (error) {
    chatsProblem.value = { ...chatsProblem.value, [person]: messageOf(error) };
  }
}

/** Calls a function for each message of a business that is new; returns the function that ends it. */
export function onRing(listener: (chat: Chat, message: Message) => void): () => void {
  rings.add(listener);
  return () => rings.delete(listener);
}

/** Calls functions for each row of the ledger, and when rows were missed; returns the function that ends it. */
export function onLedger(listener: (row: LedgerRow) => void, onGap: () => void): () => void {
  ledgerListeners.set(listener, onGap);
  return () => ledgerListeners.delete(listener);
}

const persons: ReadonlySignal<string> = computed(() =>
  route.value.view === "phones" ? route.value.persons.join("+") : "",
);
// One phone asks for its own events only; several, or the panel, for all.
const query = computed(() => {
  if (route.value.view === "panel") return route.value.part === "ledger" ? "?ledger=true" : "";
  return persons.value && !persons.value.includes("+") ? `?person=${persons.value}` : "";
});

/** Starts the feed, and follows the address from then on. */
export function start(): void {
  effect(() => follow(query.value, receive));
  effect(() => {
    for (const person of shown(persons.value)) if (!chatsRead.peek().has(person)) loadChats(person);
  });
}

/** Takes an event of the feed. */
export function receive(event: string, data: unknown): void {
  if (event === "ready") readAgain();
  else if (event === "message") receiveMessage(data as { chat: Chat; message: Message });
  else if (event === "chat") putShown((data as { chat: Chat }).chat);
  else if (event === "ledger") for (const listener of ledgerListeners.keys()) listener(data as LedgerRow);
  else if (event === "changed") {
    const { what } = data as { what: string };
    if (what === "all") readAgain();
    else refresh(what);
  }
}

/** The feed has no history: after a gap, everything that is shown is read again. */
function readAgain(): void {
  refresh("all");
  for (const onGap of ledgerListeners.values()) onGap();
  for (const person of shown(persons.peek())) loadChats(person);
  const open = route.peek();
  for (const [key, thread] of threads) {
    if (open.view === "phones" && open.open[thread.person] === thread.number) thread.load();
    else threads.delete(key);
  }
}

function receiveMessage({ chat, message }: { chat: Chat; message: Message }): void {
  const known = threads.get(chatKey(chat.person, chat.number.id));
  const last = chats.peek().get(chatKey(chat.person, chat.number.id))?.last;
  const before = known?.messages.peek()?.find((one) => one.id === message.id) ?? null;
  batch(() => {
    putShown(chat);
    known?.put(message);
  });
  if (recent.value.peek()?.chats.every((one) => one.person !== chat.person)) recent.refresh();
  if (arrives(message, before, last ?? null)) for (const ring of rings) ring(chat, message);
}

/** Returns whether a message of the business is on the person's phone, and was not before. */
function arrives(message: Message, before: Message | null, last: Message | null): boolean {
  if (message.from === "person" || !isHere(message) || rung.has(message.id)) return false;
  const changed = message.status !== "delivered" || message.edited || message.deleted || message.reactions.length > 0;
  if ((before && isHere(before)) || (changed && last && message.seq <= last.seq)) return false;
  if (rung.size >= RUNG) rung.clear();
  rung.add(message.id);
  return true;
}

function isHere(message: Message): boolean {
  return message.status === "delivered" || message.status === "read" || message.status === "played";
}

function putShown(chat: Chat): void {
  if (shown(persons.peek()).includes(chat.person)) putChat(chat);
}

function shown(joined: string): string[] {
  return joined ? joined.split("+") : [];
}

function merge(older: Message[], newer: Message[]): Message[] {
  const bySeq = new Map([...older, ...newer].map((message) => [message.seq, message]));
  return [...bySeq.values()].sort((a, b) => a.seq - b.seq);
}

function time(chat: Chat): number {
  return chat.last?.at ?? 0;
}
