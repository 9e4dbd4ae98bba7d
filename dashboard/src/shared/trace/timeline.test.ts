import { expect, test } from "vitest";
import { isWaiting, timeline } from "./timeline";

type Given = Parameters<typeof timeline>[0];
const at = (second: number) => `2026-11-15T10:00:${String(second).padStart(2, "0")}.000Z`;
const attempt = (number: number, second: number, error: string | null) => ({
  number,
  at: at(second),
  url: "https://shop.example.com/hooks",
  status: error ? 500 : 200,
  error,
  latency_ms: 45,
});

function given(part: object): Given {
  const steps = [
    { step: "accepted", at: at(0) },
    { step: "waited", at: at(1), until: at(3), because: "The channel is not connected", rule: "not_connected" },
    { step: "sent", at: at(4) },
  ];
  return { steps, events: [], waiting: null, ...part } as unknown as Given;
}

const events = (state: string, next_at: string | null = null) => [
  {
    event: { type: "ack_notification", data: { status: "SENT" } },
    deliveries: [{ id: "dl_1", endpoint: "we_1", state, next_at, attempts: [attempt(1, 2, "The server failed")] }],
  },
];

test("steps and webhook attempts are in the order of time, with how long each took", () => {
  const lines = timeline(given({ events: events("exhausted") }));
  expect(lines.map(({ title, took }) => [title, took])).toEqual([
    ["Accepted by the gateway", null],
    ["Waited", "for 2.0 s"],
    ["Webhook failed", "in 45 ms"],
    ["Sent", "after 3.0 s"],
  ]);
  expect(lines[2]).toMatchObject({ delivery: "dl_1", look: "bad" });
  expect(lines[2]?.text).toBe("ack_notification SENT to https://shop.example.com/hooks: The server failed");
});

test("what is expected comes last, with its reason and time", () => {
  const waiting = { rule: "tier", because: "The number may open no more", until: at(50), message_id: null };
  const lines = timeline(given({ waiting, events: events("pending", at(30)) }));
  expect(lines.slice(-2)).toMatchObject([
    { title: "Waits now", text: "The number may open no more", at: at(50), expected: true },
    { title: "Webhook is tried again", at: at(30), delivery: "dl_1", expected: true },
  ]);
});

test("a message waits, or one of its deliveries does", () => {
  expect(isWaiting(given({}))).toBe(false);
  expect(isWaiting(given({ waiting: { rule: "tier" } }))).toBe(true);
  expect(isWaiting(given({ events: events("pending") }))).toBe(true);
  expect(isWaiting(given({ events: events("delivered") }))).toBe(false);
});
