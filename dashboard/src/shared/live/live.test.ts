import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { GatewayEvent } from "./follow";
import { askAfterAnswer, askAgain, Invalidator } from "./invalidate";
import { backWords } from "./live";
import { changesOf, changesOfNotice, isAboutAll, isNoticed, keyOf, nameOf } from "./table";

const event = (type: string, action = "created"): GatewayEvent => ({
  id: "evt_1",
  type,
  action,
  channel: { id: "ch_1", kind: "official", phone: "1555" },
  data: {},
});

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("document", { hidden: false });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("an event names the queries of its channel, and those of the account", () => {
  const keys = changesOf(event("ack_notification", "connection")).map(keyOf);
  expect(keys).toContainEqual(["channel", "ch_1", "info"]);
  expect(keys).toContainEqual(["account", "channels"]);
  expect(keys).not.toContainEqual(["channel", "ch_1", "thread"]);
  expect(changesOf(event("order_notifications")).map(keyOf)).toContainEqual(["channel", "ch_1", "orders"]);
});

test("notifications for operators change templates, the channel, and where it was read, the state of the number", () => {
  const template = changesOf(event("system_notification", "template_paused")).map(keyOf);
  expect(template).toContainEqual(["channel", "ch_1", "templates"]);
  expect(template).toContainEqual(["account", "channels"]);
  expect(template).not.toContainEqual(["channel", "ch_1", "health"]);
  expect(changesOf(event("system_notification", "number_tier_changed")).map(keyOf)).toContainEqual([
    "channel",
    "ch_1",
    "health",
  ]);
  const paused = changesOf(event("system_notification", "endpoint_paused"));
  expect(paused.map(keyOf).filter(([, , kind]) => kind === "webhooks")).toHaveLength(2);
  expect(new Set(paused.map(nameOf)).size).toBe(paused.length);
});

test("an unknown event is delivered too, and an unknown notice changes nothing", () => {
  expect(changesOf(event("news")).map(({ kind }) => kind)).toEqual(["deliveries", "webhooks"]);
  expect(changesOfNotice({ name: "news", data: { channel: { id: "ch_1" } } })).toEqual([]);
  expect(changesOfNotice({ name: "account_changed", data: { resource: "news", channel: null } })).toEqual([]);
});

test("a notice names what has changed, of its channel or of the account", () => {
  const keysOf = (resource: string, id?: string) =>
    changesOfNotice({ name: "account_changed", data: { resource, channel: id ? { id } : null } }).map(keyOf);
  expect(keysOf("notes", "ch_1")).toEqual([["channel", "ch_1", "notes"]]);
  expect(keysOf("drafts", "ch_1")).toEqual([["channel", "ch_1", "drafts"]]);
  expect(keysOf("mcp_handovers", "ch_1")).toEqual([["channel", "ch_1", "handovers"]]);
  expect(keysOf("views")).toEqual([["account", "views"]]);
  expect(keysOf("files", "ch_1")).toEqual([
    ["account", "plan"],
    ["account", "usage"],
  ]);
  expect(keysOf("users")).toEqual([["account", "users"], ["session"]]);
  expect(isAboutAll({ name: "account_changed", data: { resource: "all", channel: null } })).toBe(true);
  expect(isAboutAll({ name: "account_changed", data: { resource: "users", channel: null } })).toBe(false);
});

test("what only notices keep up to date is known, for a connection that is back", () => {
  expect(isNoticed(["channel", "ch_1", "notes", "cv_1"])).toBe(true);
  expect(isNoticed(["account", "log", {}])).toBe(true);
  expect(isNoticed(["session"])).toBe(true);
  expect(isNoticed(["channel", "ch_1", "thread", "cv_1"])).toBe(false);
  expect(isNoticed(["account", "usage", "2026-11-01"])).toBe(true); // the size of files
  expect(isNoticed(["account", "attention"])).toBe(false);
});

function watched(key: string[], data: unknown) {
  const client = new QueryClient();
  const ask = vi.fn(() => Promise.resolve(data));
  client.setQueryData(key, data);
  const stop = new QueryObserver(client, { queryKey: key, queryFn: ask, staleTime: 1e9 }).subscribe(() => {});
  return { client, ask, stop };
}

test("many events at once are one request, and one more at the end", async () => {
  const { client, ask, stop } = watched(["channel", "ch_1", "orders"], []);
  const invalidator = new Invalidator(client);
  for (let turn = 0; turn < 50; turn++) invalidator.invalidate(changesOf(event("order_notifications")));
  await vi.advanceTimersByTimeAsync(10);
  expect(ask).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(ask).toHaveBeenCalledTimes(2);
  stop();
});

test("an answer that was on its way when the event came is not the last word", async () => {
  const client = new QueryClient();
  const answers = ["old", "new"];
  const ask = vi.fn(() => new Promise((resolve) => setTimeout(() => resolve(answers.shift()), 100)));
  const key = ["channel", "ch_1", "orders"];
  const stop = new QueryObserver(client, { queryKey: key, queryFn: ask, staleTime: 1e9 }).subscribe(() => {});
  await vi.advanceTimersByTimeAsync(50);
  new Invalidator(client).invalidate(changesOf(event("order_notifications")));
  await vi.advanceTimersByTimeAsync(300);
  expect(client.getQueryData(key)).toBe("new");
  stop();
});

test("many changes while an answer is on its way: one more request, then one a second", async () => {
  const client = new QueryClient();
  let version = 0;
  const ask = vi.fn(() => {
    const answer = version;
    return new Promise((resolve) => setTimeout(() => resolve(answer), 100));
  });
  const key = ["channel", "ch_1", "conversations", {}];
  const stop = new QueryObserver(client, { queryKey: key, queryFn: ask, staleTime: 1e9 }).subscribe(() => {});
  for (let turn = 0; turn < 100; turn++) {
    await vi.advanceTimersByTimeAsync(30);
    version += 1;
    askAfterAnswer(client, { queryKey: key.slice(0, 3) });
  }
  await vi.advanceTimersByTimeAsync(2_000);
  const before = ask.mock.calls.length;
  expect(before).toBeGreaterThan(2);
  expect(before).toBeLessThan(7);
  askAgain(client, { queryKey: key });
  version += 1;
  askAgain(client, { queryKey: key });
  await vi.advanceTimersByTimeAsync(2_000);
  expect(client.getQueryData(key)).toBe(101);
  expect(ask).toHaveBeenCalledTimes(before + 2);
  stop();
});

test("a change while a repeated request is on its way is not lost", async () => {
  const client = new QueryClient();
  let version = 0;
  const ask = vi.fn(() => {
    const answer = version;
    return new Promise((resolve) => setTimeout(() => resolve(answer), 500));
  });
  const key = ["channel", "ch_1", "conversations", {}];
  const stop = new QueryObserver(client, { queryKey: key, queryFn: ask, staleTime: 1e9 }).subscribe(() => {});
  askAfterAnswer(client, { queryKey: key });
  await vi.advanceTimersByTimeAsync(600); // the second request is on its way
  askAfterAnswer(client, { queryKey: key });
  await vi.advanceTimersByTimeAsync(600); // the third waits for its time
  askAgain(client, { queryKey: key }); // a request that begins now
  await vi.advanceTimersByTimeAsync(100);
  version = 7;
  askAfterAnswer(client, { queryKey: key });
  await vi.advanceTimersByTimeAsync(5_000);
  expect(client.getQueryData(key)).toBe(7);
  stop();
});

test("a long list is not loaded again while it is read, and a hidden page asks nothing", async () => {
  const { client, ask, stop } = watched(["channel", "ch_1", "orders", "list"], { pages: [1, 2, 3] });
  new Invalidator(client).invalidate(changesOf(event("order_notifications")));
  await vi.advanceTimersByTimeAsync(10);
  expect(ask).not.toHaveBeenCalled();
  stop();
  const hidden = watched(["channel", "ch_1", "orders"], []);
  vi.stubGlobal("document", { hidden: true });
  new Invalidator(hidden.client).invalidate(changesOf(event("order_notifications")));
  await vi.advanceTimersByTimeAsync(10);
  expect(hidden.ask).not.toHaveBeenCalled();
  expect(hidden.client.getQueryState(["channel", "ch_1", "orders"])?.isInvalidated).toBe(true);
  hidden.stop();
});

test("words for a connection that is back", () => {
  expect(backWords(1)).toBe("Reconnected. 1 update while you were away.");
  expect(backWords(12)).toBe("Reconnected. 12 updates while you were away.");
  expect(backWords(null)).toContain("loaded again");
});
