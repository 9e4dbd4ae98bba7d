import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { connection, follow, waitBefore } from "./feed";

let server: Server;
let open: ServerResponse[];
let refuse: boolean;
const plain = globalThis.fetch;

beforeEach(async () => {
  open = [];
  refuse = false;
  server = createServer((_, response) => {
    if (refuse) {
      response.writeHead(503, { "content-type": "application/json" }).end('{"error": "too many feeds"}');
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write('event: ready\ndata: {"now": 1}\n\n');
    open.push(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  vi.stubGlobal("fetch", (path: string, init: RequestInit) => plain(`http://127.0.0.1:${port}${path}`, init));
});

afterEach(() => {
  vi.unstubAllGlobals();
  server.closeAllConnections();
  server.close();
});

test("the feed is opened again when the connection is lost", async () => {
  const events: string[] = [];
  const stop = follow("", (event) => events.push(event));
  await expect.poll(() => events).toEqual(["ready"]);
  open[0]?.write('event: changed\ndata: {"what": "people"}\n\n');
  await expect.poll(() => events).toEqual(["ready", "changed"]);
  open[0]?.destroy();
  await expect.poll(() => events, { timeout: 5000 }).toEqual(["ready", "changed", "ready"]);
  expect(connection.value).toBe("open");
  stop();
});

test("a refused feed is tried again", async () => {
  refuse = true;
  const stop = follow("", () => {});
  await expect.poll(() => connection.value).toBe("lost");
  refuse = false;
  await expect.poll(() => connection.value, { timeout: 5000 }).toBe("open");
  stop();
});

test("the pauses grow to ten seconds", () => {
  expect([0, 1, 2, 9].map((attempt) => waitBefore(attempt, 0.5))).toEqual([500, 1000, 2000, 10_000]);
  expect(waitBefore(0, 0)).toBe(375);
});
