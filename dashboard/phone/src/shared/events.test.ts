import { expect, test } from "vitest";
import { eventReader } from "./events";

const STREAM = ': heartbeat\n\nevent: ready\ndata: {"now": 1}\n\nevent: message\r\ndata: {"a":\r\ndata: 2}\r\n\r\n';
const EVENTS = [
  { event: "ready", data: '{"now": 1}' },
  { event: "message", data: '{"a":\n2}' },
];

test("events are read whole, wherever the stream is cut", () => {
  for (let size = 1; size <= STREAM.length; size++) {
    const read = eventReader();
    const found = [];
    for (let at = 0; at < STREAM.length; at += size) found.push(...read(STREAM.slice(at, at + size)));
    expect(found).toEqual(EVENTS);
  }
});

test("an event that is not complete waits", () => {
  const read = eventReader();
  expect(read("event: ready\ndata: {}\n")).toEqual([]);
  expect(read("\n")).toEqual([{ event: "ready", data: "{}" }]);
});
