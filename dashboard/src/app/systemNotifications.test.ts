import { expect, test } from "vitest";
import type { GatewayEvent } from "../shared/live/follow";
import { expectOwnChange, isOwnChange } from "../shared/live/ownChanges";
import { grouped, notificationOf } from "./systemNotifications";

const event = (action: string, data: Record<string, unknown> = {}, type = "system_notification"): GatewayEvent => ({
  id: `evt_${action}`,
  type,
  action,
  channel: { id: "ch_1", kind: "official", phone: "1555" },
  data,
});
const template = { id: "tpl_1", name: "order_sent", language: "en_US" };
const paused = event("endpoint_paused", { id: "we_1", url: "https://shop.example.com/hooks" });

test("each kind of notification has words, a colour and a place", () => {
  expect(notificationOf(paused)).toMatchObject({
    text: "The endpoint shop.example.com is paused, because deliveries fail.",
    color: "orange",
    place: { to: "/webhooks", search: { channel: "ch_1" } },
  });
  expect(notificationOf(event("template_rejected", template))).toMatchObject({
    text: "The template order_sent (en_US) was rejected.",
    color: "red",
    place: { to: "/templates", search: { channel: "ch_1", template: "tpl_1" } },
  });
  expect(notificationOf(event("number_quality_changed", { quality: "RED", previous: "GREEN" }))).toMatchObject({
    text: "The quality of the number is low (before: high).",
    color: "red",
    place: { to: "/channels/$channelId", params: { channelId: "ch_1" } },
  });
  expect(notificationOf(event("endpoint_exhausted", { exhausted: 1, url: "https://a.example" }))?.text).toBe(
    "1 delivery to a.example failed for good.",
  );
});

test("a tier that rises is good, and one that falls is not; 0 is no limit", () => {
  const tier = (tier: number, previous: number) => notificationOf(event("number_tier_changed", { tier, previous }));
  expect(tier(10_000, 1_000)).toMatchObject({
    color: "teal",
    text: "The number may open 10,000 conversations a day (before: 1,000).",
  });
  expect(tier(1_000, 0)).toMatchObject({ color: "orange" });
  expect(tier(0, 100_000)).toMatchObject({
    color: "teal",
    text: "The number may open any number of conversations a day (before: 100,000).",
  });
});

test("other events, and actions of a later version, cause no notification", () => {
  expect(notificationOf(event("created", {}, "order_notifications"))).toBeNull();
  expect(notificationOf(event("moon_risen"))).toBeNull();
});

test("much at once is one notification, which leads to what is most urgent", () => {
  const approved = Array.from({ length: 5 }, () => notificationOf(event("template_approved", template)));
  const list = [...approved, notificationOf(paused), notificationOf(event("template_rejected", template))].flatMap(
    (one) => one ?? [],
  );
  expect(grouped(list)).toMatchObject([
    {
      text: "5 templates approved, 1 endpoint paused, 1 template rejected.",
      color: "red",
      place: { to: "/templates" },
    },
  ]);
  expect(grouped(list.slice(0, 3))).toHaveLength(3);
  expect(grouped([])).toEqual([]);
});

test("what was turned on or off on this page causes no notification here, and a pause does", () => {
  const off = event("endpoint_disabled", { id: "we_9" });
  expect(isOwnChange(off, 1_000)).toBe(false);
  expectOwnChange("we_9", 1_000);
  expect(isOwnChange(off, 2_000)).toBe(true);
  expect(isOwnChange(event("endpoint_paused", { id: "we_9" }), 2_000)).toBe(false);
  expect(isOwnChange(event("endpoint_disabled", { id: "we_8" }), 2_000)).toBe(false);
  expect(isOwnChange(off, 60_000)).toBe(false);
});
