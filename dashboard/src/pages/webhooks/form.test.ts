import { expect, test } from "vitest";
import { bodyOf, changeOf, NEW_ENDPOINT, readHeaders } from "./form";
import { endpointLook, statusLook } from "./words";

test("headers are read line by line", () => {
  expect(readHeaders("X-Shop: 7\n\n Authorization : Bearer a:b \n")).toEqual({
    headers: { "X-Shop": "7", Authorization: "Bearer a:b" },
  });
  expect(readHeaders("nonsense")).toHaveProperty("problem");
});

test("an empty rate limit means none", () => {
  expect(bodyOf({ ...NEW_ENDPOINT, url: " https://a.example " }, {})).toMatchObject({
    url: "https://a.example",
    rate_limit: null,
  });
  expect(Object.values(NEW_ENDPOINT.events)).toEqual([true, true, true, true, true, true, false]);
});

test("the change of an endpoint has only what was edited", () => {
  const before = bodyOf({ ...NEW_ENDPOINT, url: "https://a.example" }, { "X-Shop": "7" });
  expect(changeOf(before, before)).toEqual({});
  const after = { ...before, rate_limit: 5, events: { ...before.events, ack_notification: false } };
  expect(changeOf(before, after)).toEqual({ rate_limit: 5, events: { ack_notification: false } });
  expect(changeOf(before, { ...before, headers: {} })).toEqual({ headers: {} });
});

test("an endpoint that fails, and a delivery that is retried, do not look well", () => {
  expect(endpointLook({ state: "active", failing_since: "2026-11-15T12:00:00Z" }).label).toBe("Failing");
  expect(endpointLook({ state: "active", failing_since: null }).label).toBe("Active");
  expect(statusLook({ status: "pending", attempt_count: 2 }).label).toBe("Retrying");
  expect(statusLook({ status: "exhausted", attempt_count: 9 }).label).toBe("Failed");
});
