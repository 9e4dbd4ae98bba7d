import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { go, route } from "./route";
import { chatOf, chatsOf, chatsRead, loadChats, onRing, receive, threadOf } from "./store";
import type { Chat, Message } from "./types";

const ANA = "5511999990000";

function message(seq: number, more: Partial<Message> = {}): Message {
  return {
    id: `m${seq}`,
    seq,
    from: "business",
    at: 1000 + seq,
    type: "text",
    view: { text: `text ${seq}` },
    status: "delivered",
    error: null,
    quote: null,
    reactions: [],
    edited: false,
    deleted: false,
    forwarded: false,
    ...more,
  };
}

function chat(number: string, last: Message | null, more: Partial<Chat> = {}): Chat {
  return {
    person: ANA,
    name: "Ana",
    number: { id: number, network: "official", phone: "1555", name: "Shop" },
    unread: 0,
    last,
    typing: false,
    presence: null,
    blocked: false,
    marketing_stopped: false,
    window_ends_at: null,
    ...more,
  };
}

let answers: Record<string, unknown>;
let gates: Record<string, Promise<void>>;

beforeEach(() => {
  answers = {};
  gates = {};
  vi.stubGlobal("location", { hash: "" });
  vi.stubGlobal("history", { pushState: () => {}, replaceState: () => {} });
  vi.stubGlobal("fetch", async (path: string) => {
    const body = JSON.stringify(answers[path] ?? { error: "unknown" });
    const status = path in answers ? 200 : 404;
    await gates[path];
    return new Response(body, { status });
  });
  go({ view: "phones", persons: [ANA], open: {} });
});

afterEach(() => {
  vi.unstubAllGlobals();
});

test("chats are shown latest first, and an event moves its chat to the top", async () => {
  answers[`/control/chats?person=${ANA}`] = { person: ANA, chats: [chat("2", message(9)), chat("1", message(5))] };
  await loadChats(ANA);
  expect(chatsRead.value.has(ANA)).toBe(true);
  expect(chatsOf(ANA).map((one) => one.number.id)).toEqual(["2", "1"]);
  receive("message", { chat: chat("1", message(12), { unread: 1 }), message: message(12) });
  expect(chatsOf(ANA).map((one) => one.number.id)).toEqual(["1", "2"]);
  expect(chatOf(ANA, "1")?.unread).toBe(1);
});

test("a number in another form than the network's gets that form, and keeps its open chat", async () => {
  const written = "551199990000";
  answers[`/control/chats?person=${written}`] = { person: ANA, chats: [] };
  answers[`/control/chats?person=${ANA}`] = { person: ANA, chats: [chat("1", message(5))] };
  go({ view: "phones", persons: ["15550001", written], open: { [written]: "1" } });
  await loadChats(written);
  expect(route.value).toEqual({ view: "phones", persons: ["15550001", ANA], open: { [ANA]: "1" } });
  expect(chatsOf(ANA).map((one) => one.number.id)).toEqual(["1"]);
});

test("what the feed tells while the chats are read is not lost", async () => {
  let open = () => {};
  gates[`/control/chats?person=${ANA}`] = new Promise((resolve) => {
    open = resolve;
  });
  answers[`/control/chats?person=${ANA}`] = { person: ANA, chats: [chat("1", message(5))] };
  const reading = loadChats(ANA);
  receive("message", { chat: chat("1", message(6), { unread: 3 }), message: message(6) });
  open();
  await reading;
  expect(chatOf(ANA, "1")?.unread).toBe(3);
});

test("a message that comes while the thread is read is not lost, and its status is the newer one", async () => {
  const path = `/control/chats/${ANA}/3?limit=50`;
  let open = () => {};
  gates[path] = new Promise((resolve) => {
    open = resolve;
  });
  answers[path] = { chat: chat("3", message(1)), messages: [message(1)], more: false };
  const thread = threadOf(ANA, "3");
  receive("message", { chat: chat("3", message(1)), message: message(1, { status: "read" }) });
  receive("message", { chat: chat("3", message(2)), message: message(2) });
  open();
  await expect
    .poll(() => thread.messages.value?.map((one) => [one.seq, one.status]))
    .toEqual([
      [1, "read"],
      [2, "delivered"],
    ]);
});

test("older messages come above", async () => {
  answers[`/control/chats/${ANA}/4?limit=50`] = { chat: chat("4", message(9)), messages: [message(9)], more: true };
  answers[`/control/chats/${ANA}/4?limit=50&before=9`] = {
    chat: chat("4", message(9)),
    messages: [message(7), message(8)],
    more: false,
  };
  const thread = threadOf(ANA, "4");
  await expect.poll(() => thread.more.value).toBe(true);
  await thread.loadOlder();
  expect(thread.messages.value?.map((one) => one.seq)).toEqual([7, 8, 9]);
  expect(thread.more.value).toBe(false);
});

test("an unknown number says so", async () => {
  const thread = threadOf(ANA, "404");
  await expect.poll(() => thread.problem.value).toBe("unknown");
});

test("only a new message of the business rings", () => {
  const rung: number[] = [];
  const end = onRing((_, one) => rung.push(one.seq));
  go({ view: "phones", persons: [ANA], open: {} });
  const arrive = (seq: number, more: Partial<Message> = {}, last: Message | null = null) => {
    const one = message(seq, { id: `ring ${seq}`, ...more });
    receive("message", { chat: chat("8", last ?? one), message: one });
  };
  arrive(1, { status: "accepted" });
  arrive(1, { status: "sent" });
  arrive(1);
  arrive(1, { status: "read" });
  arrive(4, { from: "person" });
  arrive(3, {}, message(4)); // delivered after the person wrote
  arrive(2, { status: "read" }, message(4)); // was there before
  arrive(2, { reactions: [{ from: "person", emoji: "👍" }] }, message(4));
  arrive(5, { status: "read" }); // the chat was open on the phone
  end();
  arrive(6);
  expect(rung).toEqual([1, 3, 5]);
});

test("an answer that was on its way does not hide what the feed told meanwhile", async () => {
  const page = `/control/chats/${ANA}/7?limit=50`;
  answers[page] = { chat: chat("7", null), messages: [], more: false };
  let release = () => {};
  gates[page] = new Promise((resolve) => {
    release = resolve;
  });
  const thread = threadOf(ANA, "7");
  receive("chat", { chat: chat("7", null, { typing: true }) });
  release();
  await vi.waitFor(() => expect(thread.messages.value).toEqual([]), 60_000);
  expect(chatOf(ANA, "7")?.typing).toBe(true);
});

test("an event about a message that is not read yet leaves no gap behind it", async () => {
  const path = `/control/chats/${ANA}/gap`;
  const shop = chat("gap", message(60));
  answers[`${path}?limit=50`] = { chat: shop, messages: [message(59), message(60)], more: true };
  answers[`${path}?limit=50&before=59`] = { chat: shop, messages: [message(57), message(58)], more: true };
  const thread = threadOf(ANA, "gap");
  await vi.waitFor(() => expect(thread.messages.value).toHaveLength(2));
  receive("message", { chat: shop, message: message(3, { edited: true }) });
  expect(thread.messages.value?.map(({ seq }) => seq)).toEqual([59, 60]);
  const reading = thread.loadOlder();
  receive("message", { chat: shop, message: message(58, { edited: true }) });
  receive("message", { chat: shop, message: message(4, { edited: true }) });
  await reading;
  expect(thread.messages.value?.map(({ seq, edited }) => [seq, edited])).toEqual([
    [57, false],
    [58, true],
    [59, false],
    [60, false],
  ]);
});

test("a number that is gone after a reset shows none of its messages; one that could not be read does", async () => {
  const path = `/control/chats/${ANA}/reset?limit=50`;
  answers[path] = { chat: chat("reset", message(1)), messages: [message(1)], more: false };
  const thread = threadOf(ANA, "reset");
  await vi.waitFor(() => expect(thread.messages.value).toHaveLength(1));
  vi.stubGlobal("fetch", async () => new Response("{}", { status: 500 }));
  await thread.load();
  expect([thread.messages.value?.length, thread.unknown.value]).toEqual([1, false]);
  vi.stubGlobal("fetch", async () => new Response("{}", { status: 404 }));
  await thread.load();
  expect([thread.messages.value, thread.unknown.value]).toEqual([null, true]);
});
