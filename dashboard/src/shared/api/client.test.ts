import { expect, test } from "vitest";
import { api, channelApi } from "./client";

type Answer = () => Promise<Response>;

const made: Answer = async () => Response.json({ success: true, data: {} }, { status: 201 });
const lost: Answer = async () => Promise.reject(new TypeError("network error"));
const proxied: Answer = async () => new Response("Bad gateway", { status: 502 });

/** Sends a request to create a label; returns the key that it has. */
async function create(name: string, answer: Answer, client = api): Promise<string | null> {
  let key: string | null = null;
  const fetch = (request: Request) => {
    key = request.headers.get("Idempotency-Key");
    return answer();
  };
  await client.POST("/api/v1/labels", { baseUrl: "http://gateway", fetch, body: { name } }).catch(() => {});
  return key;
}

test("a request that is repeated before it is answered, or after its answer was lost, has the same key", async () => {
  const [one, two] = await Promise.all([create("VIP", lost), create("VIP", lost)]);
  expect(one).toMatch(/^[0-9a-f]{32}$/);
  expect(two).toBe(one);
  expect(await create("VIP", proxied)).toBe(one);
  expect(await create("VIP", made)).toBe(one);
  expect(await create("VIP", made)).not.toBe(one); // it was answered: this is another one
});

test("another request has another key", async () => {
  const one = await create("VIP", lost);
  expect(await create("VIP", lost, channelApi("ch_1"))).not.toBe(one);
  expect(await create("Newsletter", lost)).not.toBe(one);
});

test("what was deleted can be created again", async () => {
  const one = await create("VIP", lost);
  const params = { path: { label_id: "lab_1" } };
  await api.DELETE("/api/v1/labels/{label_id}", { baseUrl: "http://gateway", fetch: made, params });
  expect(await create("VIP", made)).not.toBe(one);
});
