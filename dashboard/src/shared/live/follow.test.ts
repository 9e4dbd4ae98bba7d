import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { followAccount, type GatewayEvent, type LiveStatus } from "./follow";

const text = new TextEncoder();
let asked: { url: string; last: string | undefined }[];
let answers: (() => Response | Promise<Response>)[];

/** A stream of these pieces, which then ends. */
const stream = (...pieces: string[]) =>
  new Response(
    new ReadableStream({
      start(control) {
        for (const piece of pieces) control.enqueue(text.encode(piece));
        control.close();
      },
    }),
  );

const opening = (cursor: string) => `retry: 2000\nid: ${cursor}\n\n`;
const ready = 'event: ready\ndata: {"missed":0,"heartbeat":15}\n\n';
const frame = (id: string, cursor?: string) =>
  `${cursor ? `id: ${cursor}\n` : ""}event: order_notifications\ndata: {"id":"${id}","channel":{"id":"ch_1"}}\n\n`;

beforeEach(() => {
  vi.useFakeTimers();
  asked = [];
  answers = [];
  vi.stubGlobal("addEventListener", () => {});
  vi.stubGlobal("removeEventListener", () => {});
  vi.stubGlobal("document", { addEventListener: () => {}, removeEventListener: () => {}, hidden: false });
  vi.stubGlobal("fetch", (url: string, options: { headers: Record<string, string> }) => {
    asked.push({ url, last: options.headers["Last-Event-ID"] });
    const answer = answers.shift();
    return answer ? Promise.resolve(answer()) : new Promise(() => {});
  });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

async function followed(start: string | null = null) {
  const events: (GatewayEvent & { before: boolean })[] = [];
  const statuses: [LiveStatus, number | null | undefined][] = [];
  const stop = new AbortController();
  const done = followAccount(
    start,
    {
      onPart: (part) => events.push(...part.events.map((event) => ({ ...event, before: part.before }))),
      onStatus: (status, missed) => statuses.push([status, missed]),
    },
    stop.signal,
  );
  await vi.advanceTimersByTimeAsync(60_000);
  stop.abort();
  await Promise.race([done, vi.advanceTimersByTimeAsync(1)]);
  return { ids: events.map(({ id }) => id), events, statuses };
}

test("it goes on behind the last cursor, and applies nothing twice", async () => {
  answers.push(
    () => stream(opening("a1.0"), ready, frame("e1"), frame("e2", "a1.2"), frame("e3")),
    () => stream(opening("a1.2"), frame("e3"), frame("e4", "a1.4"), ready),
  );
  const { ids, statuses } = await followed();
  expect(ids).toEqual(["e1", "e2", "e3", "e4"]);
  expect(asked.map(({ last }) => last)).toEqual([undefined, "a1.2", "a1.4"]);
  expect(asked[0]?.url).toContain("back=");
  expect(statuses.slice(0, 3)).toEqual([
    ["live", 0],
    ["lost", undefined],
    ["live", 1],
  ]);
});

test("a first stream that begins late loads everything again", async () => {
  const refused = () => new Response(null, { status: 503 });
  answers.push(refused, refused, () => stream(opening("a1.0"), ready)); // after 3 seconds
  expect((await followed()).statuses).toContainEqual(["live", 0]);
  answers.push(refused, refused, refused, refused, () => stream(opening("a1.0"), ready)); // after 15 seconds
  expect((await followed()).statuses).toContainEqual(["live", null]);
});

test("what happened before the first stream is marked", async () => {
  answers.push(() => stream(opening("a1.0"), frame("e1", "a1.1"), ready, frame("e2", "a1.2")));
  const { events } = await followed();
  expect(events.map(({ id, before }) => [id, before])).toEqual([
    ["e1", true],
    ["e2", false],
  ]);
});

test("too much was missed: everything is loaded again", async () => {
  const many = Array.from({ length: 600 }, (_, number) => frame(`e${number}`, `a1.${number}`)).join("");
  answers.push(
    () => stream(opening("a1.x"), many, ready),
    () => stream(opening("a1.y"), ready),
  );
  const { statuses } = await followed("a1.x");
  expect(asked.slice(0, 2).map(({ last }) => last)).toEqual(["a1.x", undefined]);
  expect(statuses[0]).toEqual(["live", null]);
});

test("it waits longer after each failure, and ends when it is refused", async () => {
  for (let turn = 0; turn < 3; turn++) answers.push(() => Promise.reject(new TypeError("network")));
  answers.push(() => new Response(null, { status: 401 }));
  const { statuses } = await followed();
  expect(statuses.map(([status]) => status)).toEqual(["lost", "lost", "lost", "ended"]);
  expect(asked).toHaveLength(4);
});

test("it goes on after a suspension, and says how much was missed", async () => {
  answers.push(
    () => stream(opening("a1.0"), ready),
    () => new Response(null, { status: 402 }),
    () => new Response(null, { status: 402 }),
    () => stream(opening("a1.0"), frame("e1", "a1.1"), ready),
  );
  const { ids, statuses } = await followed();
  expect(ids).toEqual(["e1"]);
  expect(statuses.slice(0, 5)).toEqual([
    ["live", 0],
    ["lost", undefined],
    ["ended", undefined],
    ["ended", undefined],
    ["live", 1],
  ]);
});

test("a cursor that the gateway does not know is forgotten", async () => {
  answers.push(
    () => new Response(null, { status: 400 }),
    () => stream(opening("a1.y"), ready),
  );
  const { statuses } = await followed("a1.old");
  expect(statuses[0]).toEqual(["live", null]);
});

test("a connection over which nothing comes is given up", async () => {
  answers.push(
    () =>
      new Response(new ReadableStream({ start: (control) => control.enqueue(text.encode(opening("a1.0") + ready)) })),
    () => stream(opening("a1.0"), ready),
  );
  const { statuses } = await followed();
  expect(asked.length).toBeLessThanOrEqual(2);
  expect(statuses[0]).toEqual(["live", 0]);
});
