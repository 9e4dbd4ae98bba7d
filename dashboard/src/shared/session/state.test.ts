import { MutationObserver, notifyManager, QueryClient } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { ended, enter, expire, leave, readSession, reported, SESSION, type Session } from "./state";

const session = (user: string) => ({ user: { id: user }, csrf_token: "t", now: "" }) as Session;

function signedIn(user = "usr_1"): QueryClient {
  const client = new QueryClient();
  enter(client, session(user));
  client.setQueryData(["channel", "ch_1", "webhooks"], ["kept"]);
  return client;
}

test("an expired session keeps what was loaded, and who it was", () => {
  const client = signedIn();
  expire(client);
  expect(client.getQueryData(SESSION)).toMatchObject({ status: "expired" });
  expect(readSession(client)?.user.id).toBe("usr_1");
  enter(client, session("usr_1"));
  expect(client.getQueryData(["channel", "ch_1", "webhooks"])).toEqual(["kept"]);
});

test("another person does not see what was loaded before", () => {
  const client = signedIn();
  expire(client);
  enter(client, session("usr_2"));
  expect(client.getQueryData(["channel", "ch_1", "webhooks"])).toBeUndefined();
});

test("another person who has signed in in another tab does not see what was loaded before", () => {
  const client = signedIn();
  expect(reported(client, session("usr_1"))).toMatchObject({ status: "in" });
  expect(client.getQueryData(["channel", "ch_1", "webhooks"])).toEqual(["kept"]);
  expect(reported(client, session("usr_2"))).toMatchObject({ status: "in", session: { user: { id: "usr_2" } } });
  expect(client.getQueryData(["channel", "ch_1", "webhooks"])).toBeUndefined();
});

test("signing out forgets everything", () => {
  const client = signedIn();
  leave(client);
  expect(readSession(client)).toBeNull();
  expect(client.getQueryData(["channel", "ch_1", "webhooks"])).toBeUndefined();
});

test("without a session nothing expires", () => {
  expect(ended(undefined)).toEqual({ status: "out" });
  expect(ended({ status: "out" })).toEqual({ status: "out" });
});

test("a change is seen to have begun before the next click can come", async () => {
  const observer = new MutationObserver(new QueryClient(), { mutationFn: () => new Promise(() => {}) });
  const seen: boolean[] = [];
  observer.subscribe(notifyManager.batchCalls(({ isPending }) => seen.push(isPending))); // as `useMutation` does
  void observer.mutate();
  for (let tick = 0; tick < 5; tick++) await Promise.resolve(); // no time passes, and no task of the browser ends
  expect(seen).toContain(true);
});

test("what was refused is asked again when the same person has signed in in another tab", () => {
  const client = signedIn();
  expire(client);
  expect(reported(client, session("usr_1"))).toMatchObject({ status: "in" });
  expect(client.getQueryState(["channel", "ch_1", "webhooks"])?.isInvalidated).toBe(true);
  client.setQueryData(SESSION, reported(client, session("usr_1")));
  client.setQueryData(["channel", "ch_1", "webhooks"], ["loaded"]);
  reported(client, session("usr_1")); // as every minute
  expect(client.getQueryState(["channel", "ch_1", "webhooks"])?.isInvalidated).toBe(false);
});
