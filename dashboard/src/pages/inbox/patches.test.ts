import { InfiniteQueryObserver, QueryClient } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { GatewayEvent } from "../../shared/live/follow";
import { askAfterAnswer } from "../../shared/live/invalidate";
import { SESSION } from "../../shared/session/state";
import { countsAfter } from "./counts";
import { draftKeys } from "./draftQueries";
import { applyEvent, withReaction } from "./events";
import { placeInThread, takeOver } from "./patches";
import {
  type Conversation,
  type ConversationPages,
  type Counts,
  keys,
  type Message,
  type MessagePages,
} from "./queries";

beforeEach(() => {
  vi.setSystemTime("2026-11-16T11:00:30Z");
  vi.stubGlobal("document", { hidden: false });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const CHANNEL = "ch_1";
const LAST_SECOND = "2026-11-16T09:59:59Z"; // before any message that is loaded
const FILTER = { status: "open" as const };

const message = (id: string, at: string, rest: Partial<Message> = {}) =>
  ({
    key: { id, remoteJid: "", fromMe: false },
    direction: "in",
    type: "text",
    content: { body: id },
    status: "RECEIVED",
    conversation: { id: "cv_1" },
    contact: { id: "ct_1", phone: "5511", name: "Ana" },
    reactions: [],
    created_at: at,
    ...rest,
  }) as Message;

const conversation = (id: string, last: Message) =>
  ({
    id,
    contact: { id: `ct${id}`, phone: "5511", name: "Ana" },
    status: "open",
    unread: 0,
    labels: [],
    assignee: null,
    window_ends_at: null,
    last_message: last,
  }) as unknown as Conversation;

function inbox(): QueryClient {
  const client = new QueryClient();
  const old = message("M1", "2026-11-16T10:00:00Z", { direction: "out", status: "SENT" });
  const lists: ConversationPages = {
    pages: [
      { items: [conversation("cv_2", message("X", "2026-11-16T10:01:00Z")), conversation("cv_1", old)], next: null },
    ],
    pageParams: [null],
  };
  client.setQueryData(keys.list(CHANNEL, FILTER), lists);
  client.setQueryData<MessagePages>(keys.thread(CHANNEL, "cv_1"), {
    pages: [{ items: [old], next: null }],
    pageParams: [null],
  });
  return client;
}

const list = (client: QueryClient) =>
  client.getQueryData<ConversationPages>(keys.list(CHANNEL, FILTER))?.pages.flatMap(({ items }) => items) ?? [];
const thread = (client: QueryClient) =>
  client.getQueryData<MessagePages>(keys.thread(CHANNEL, "cv_1"))?.pages.flatMap(({ items }) => items) ?? [];

function event(type: string, action: string, data: Record<string, unknown>): GatewayEvent {
  return { id: "evt_1", type, action, channel: { id: CHANNEL, phone: "1555", kind: "official" }, data };
}

const created = (id: string) =>
  event("message_notification", "created", {
    ...message(id, ""),
    timestamp: "2026-11-16T11:00:00Z",
    context: { reply_to: "M1" },
  });

test("a new message is the newest of its thread, and moves its conversation to the top", () => {
  const client = inbox();
  applyEvent(client, CHANNEL, created("M2"));
  expect(thread(client).map(({ key }) => key.id)).toEqual(["M2", "M1"]);
  expect(thread(client)[0]?.reply_to).toBe("M1");
  const [first] = list(client);
  expect(first).toMatchObject({ id: "cv_1", unread: 1, window_ends_at: "2026-11-17T11:00:00.000Z" });
});

test("a reply within the second of the message before it is the last one: the network states whole seconds", () => {
  const client = inbox();
  applyEvent(
    client,
    CHANNEL,
    event("message_notification", "created", { ...message("M2", ""), timestamp: LAST_SECOND }),
  );
  expect(thread(client).map(({ key }) => key.id)).toEqual(["M2", "M1"]);
  expect(list(client)[0]?.last_message?.key.id).toBe("M2");
});

test("a message of a phone that was offline is at its place, and takes no time from the window", () => {
  const client = inbox();
  for (const id of ["M4", "M3"]) applyEvent(client, CHANNEL, created(id));
  applyEvent(
    client,
    CHANNEL,
    event("message_notification", "created", { ...message("M2", ""), timestamp: LAST_SECOND }),
  );
  expect(thread(client).map(({ key }) => key.id)).toEqual(["M4", "M3", "M2", "M1"]);
  const [first] = list(client);
  expect(first).toMatchObject({ unread: 3, window_ends_at: "2026-11-17T11:00:00.000Z" });
  expect(first?.last_message?.key.id).toBe("M4");
});

test("a message that belongs to a page that is not loaded is left out", () => {
  const data = { pages: [{ items: [message("M3", "")], next: "more" }], pageParams: [null] };
  expect(placeInThread(data, message("M2", ""))).toBe(data);
  expect(placeInThread(data, message("M4", "")).pages[0]?.items).toHaveLength(2);
});

test("after a message of the person, the drafts to them are asked for again", async () => {
  vi.useFakeTimers();
  const client = inbox();
  const cached = [draftKeys.of(CHANNEL, "cv_1"), [...draftKeys.ones(CHANNEL), "dr_1"], draftKeys.of(CHANNEL, "cv_2")];
  for (const key of cached) client.setQueryData(key, []);
  const old = () => cached.map((key) => client.getQueryState(key)?.isInvalidated);
  applyEvent(client, CHANNEL, event("message_notification", "created", { ...message("M2", "", { direction: "out" }) }));
  await vi.advanceTimersByTimeAsync(100);
  expect(old()).toEqual([false, false, false]);
  applyEvent(client, CHANNEL, created("M3"));
  await vi.advanceTimersByTimeAsync(100);
  expect(old()).toEqual([true, true, false]);
});

test("an answer that is late takes back nothing that events brought meanwhile", () => {
  const client = inbox();
  const [, before] = list(client);
  const late = { ...before, assignee: "usr_1" } as Conversation;
  applyEvent(client, CHANNEL, created("M2"));
  applyEvent(client, CHANNEL, event("chat_notification", "updated", { id: "cv_1", changed: ["muted"], muted: true }));
  takeOver(client, CHANNEL, late, ["assignee"]);
  const [first] = list(client);
  expect(first).toMatchObject({ id: "cv_1", assignee: "usr_1", muted: true, unread: 1 });
  expect(first?.last_message?.key.id).toBe("M2");
});

test("an event that comes twice counts once", () => {
  const client = inbox();
  applyEvent(client, CHANNEL, created("M2"));
  applyEvent(client, CHANNEL, created("M2"));
  expect(thread(client)).toHaveLength(2);
  expect(list(client)[0]?.unread).toBe(1);
});

const COUNTS = { open: 2, unread: 0, mine: 0, unassigned: 2, closing: 0, complete: true };

test("views count what an event changes, without a request", () => {
  const client = inbox();
  const counted = () => client.getQueryData<Counts>(keys.counts(CHANNEL));
  const changed = (data: Record<string, unknown>) =>
    applyEvent(
      client,
      CHANNEL,
      event("chat_notification", "updated", { id: "cv_1", changed: Object.keys(data), ...data }),
    );
  client.setQueryData(keys.counts(CHANNEL), COUNTS);
  client.setQueryData(SESSION, { status: "in", session: { user: { id: "usr_1" } } });
  const asked = vi.spyOn(client, "invalidateQueries");
  for (const id of ["M2", "M2", "M3"]) applyEvent(client, CHANNEL, created(id));
  expect(counted()).toEqual({ ...COUNTS, unread: 1 });
  changed({ assignee: "usr_1" });
  expect(counted()).toEqual({ ...COUNTS, unread: 1, mine: 1, unassigned: 1 });
  changed({ assignee: "usr_2" });
  changed({ unread: 0 });
  expect(counted()).toEqual({ ...COUNTS, unassigned: 1 });
  expect(asked).not.toHaveBeenCalled();
  changed({ status: "closed" });
  expect(counted()).toEqual({ ...COUNTS, open: 1, unassigned: 1 });
  asked.mockClear();
  applyEvent(client, CHANNEL, event("chat_notification", "updated", { id: "cv_9", unread: 0, changed: ["unread"] }));
  expect(asked.mock.calls.map(([filters]) => filters?.queryKey)).toContainEqual(keys.counts(CHANNEL));
});

test("a window that was about to close is open for a day after a message", () => {
  const now = Date.parse("2026-11-16T10:00:00Z");
  const before = { ...conversation("cv_1", message("M1", "")), window_ends_at: "2026-11-16T13:59:00Z" };
  const after = { ...before, unread: 1, window_ends_at: "2026-11-17T10:00:00Z" };
  const counts = { ...COUNTS, closing: 3 };
  expect(countsAfter(counts, before, after, "usr_1", now)).toEqual({ ...counts, unread: 1, closing: 2 });
  expect(countsAfter(counts, before, { ...before, archived: true }, "usr_1", now)).toMatchObject({
    open: 1,
    closing: 2,
  });
  expect(countsAfter({ ...counts, closing: 0 }, before, after, "usr_1", now).closing).toBe(0);
});

test("ticks go on, and never back", () => {
  const client = inbox();
  const ack = (status: string) => event("ack_notification", "message", { key: { id: "M1" }, status });
  applyEvent(client, CHANNEL, ack("READ"));
  applyEvent(client, CHANNEL, ack("DELIVERED"));
  expect(thread(client)[0]?.status).toBe("READ");
  expect(list(client)[1]?.last_message?.status).toBe("READ");
});

test("a failure is kept with its reason", () => {
  const client = inbox();
  const error = { code: 131026, title: "Undeliverable" };
  applyEvent(client, CHANNEL, event("ack_notification", "message", { key: { id: "M1" }, status: "FAILED", error }));
  expect(thread(client)[0]).toMatchObject({ status: "FAILED", error });
});

test("edits, reactions and deletions change the message", () => {
  const client = inbox();
  const change = (data: Record<string, unknown>) =>
    applyEvent(client, CHANNEL, event("message_notification", "updated", { ...message("M1", ""), ...data }));
  change({ change: "reaction", reaction: { emoji: "👍", from: "ct_1" } });
  change({ change: "reaction", reaction: { emoji: "❤️", from: "ct_1" } });
  expect(thread(client)[0]?.reactions).toEqual([{ emoji: "❤️", from: "ct_1" }]);
  change({ change: "reaction", reaction: { emoji: "", from: "ct_1" } });
  expect(thread(client)[0]?.reactions).toEqual([]);
  change({ change: "edited", content: { body: "new" } });
  expect(thread(client)[0]?.content).toEqual({ body: "new" });
  change({ change: "deleted" });
  expect(thread(client)[0]?.deleted_at).toBeTruthy();
});

test("a conversation that is closed leaves the list of open ones", () => {
  const client = inbox();
  applyEvent(
    client,
    CHANNEL,
    event("chat_notification", "updated", { id: "cv_1", status: "closed", changed: ["status"] }),
  );
  expect(list(client).map(({ id }) => id)).toEqual(["cv_2"]);
});

test("in a group, each member has one reaction", () => {
  const ana = { emoji: "👍", from: "ct_1", author: { phone: "5511", lid: "1" } };
  const bob = { emoji: "👀", from: "ct_1", author: { lid: "2" } };
  const mine = { emoji: "🎉", from: "me" };
  const all = withReaction(withReaction([mine, ana], bob), { emoji: "❤️", from: "ct_1", author: { lid: "1" } });
  expect(all.map(({ emoji }) => emoji)).toEqual(["🎉", "👀", "❤️"]);
  expect(withReaction(all, { ...bob, emoji: "" }).map(({ emoji }) => emoji)).toEqual(["🎉", "❤️"]);
});

test("a long list is asked for at a pace that its length does not raise, and shows the last change", async () => {
  vi.useFakeTimers();
  const client = new QueryClient();
  let version = 0;
  const ask = vi.fn(async ({ pageParam }: { pageParam: number }) => {
    const items = [{ ...conversation(`cv_${pageParam}`, message("M1", "")), unread: version }];
    await new Promise((resolve) => setTimeout(resolve, 50));
    return { items, next: pageParam + 1 };
  });
  const observer = new InfiniteQueryObserver(client, {
    queryKey: keys.list(CHANNEL, {} as never),
    queryFn: ask,
    initialPageParam: 0,
    getNextPageParam: ({ next }) => next,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const stop = observer.subscribe(() => {});
  await vi.advanceTimersByTimeAsync(100);
  for (let page = 1; page < 20; page++) {
    void observer.fetchNextPage();
    await vi.advanceTimersByTimeAsync(100);
  }
  expect(ask).toHaveBeenCalledTimes(20);
  ask.mockClear();
  for (let half = 0; half < 120; half++) {
    version = half;
    applyEvent(client, CHANNEL, event("chat_notification", "updated", { id: "cv_99", unread: 0, changed: ["unread"] }));
    askAfterAnswer(client, { queryKey: keys.lists(CHANNEL) }); // as the live stream does
    await vi.advanceTimersByTimeAsync(500);
  }
  expect(ask.mock.calls.length).toBeLessThanOrEqual(80); // 60 a minute, and those of the first event
  await vi.advanceTimersByTimeAsync(30_000);
  expect(observer.getCurrentResult().data?.pages.map(({ items }) => items[0]?.unread)).toEqual(Array(20).fill(119));
  stop();
});

const isOld = (client: QueryClient, key: readonly unknown[]) => client.getQueryState(key)?.isInvalidated;

test("what is out of date stays so when an event changes it", () => {
  const client = inbox();
  const counts = keys.counts(CHANNEL);
  client.setQueryData(counts, COUNTS);
  const cached = [keys.list(CHANNEL, FILTER), keys.thread(CHANNEL, "cv_1"), counts];
  for (const key of cached) void client.invalidateQueries({ queryKey: key, refetchType: "none" }); // the page is hidden
  applyEvent(client, CHANNEL, created("M2"));
  applyEvent(client, CHANNEL, event("ack_notification", "message", { key: { id: "M1" }, status: "READ" }));
  expect(thread(client).map(({ key, status }) => [key.id, status])).toEqual([
    ["M2", "RECEIVED"],
    ["M1", "READ"],
  ]);
  expect(client.getQueryData<Counts>(counts)?.unread).toBe(1);
  expect(cached.map((key) => isOld(client, key))).toEqual([true, true, true]);
  expect(isOld(client, keys.conversation(CHANNEL, "cv_1"))).toBe(true); // it is known from the list only
});

test("a conversation that was open before does not bring back a label that was deleted since", () => {
  const client = inbox();
  const [, now] = list(client);
  const before = { ...now, labels: [{ id: "lb_1", name: "VIP", color: "#fff" }] } as Conversation;
  client.setQueryData(keys.conversation(CHANNEL, "cv_1"), before);
  void client.invalidateQueries({ queryKey: keys.conversation(CHANNEL, "cv_1"), refetchType: "none" });
  applyEvent(client, CHANNEL, created("M2"));
  expect(list(client)[0]).toMatchObject({ id: "cv_1", labels: [], unread: 1 });
});

test("messages that were counted before their events came are counted again by the gateway", async () => {
  vi.useFakeTimers();
  const client = inbox();
  const loaded = { ...conversation("cv_1", message("M3", "")), unread: 2 }; // M2 and M3
  client.setQueryData(keys.list(CHANNEL, FILTER), { pages: [{ items: [loaded], next: null }], pageParams: [null] });
  for (const id of ["M2", "M3"]) applyEvent(client, CHANNEL, created(id));
  await vi.advanceTimersByTimeAsync(100);
  expect(isOld(client, keys.list(CHANNEL, FILTER))).toBe(true);
  expect(isOld(client, keys.conversation(CHANNEL, "cv_1"))).toBe(true);
});
