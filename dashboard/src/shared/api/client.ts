import createClient, { type Client, type Middleware } from "openapi-fetch";
import type { Readable } from "openapi-typescript-helpers";
import { randomKey } from "../randomKey";
import { queryClient, readSession } from "../session/state";
import { GatewayUnreachable, readProblem } from "./problem";
import type { components, paths } from "./schema";

export type Schemas = Readable<components["schemas"]>;
export type Api = Client<paths>;

const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);

/** Proves to the gateway that a change comes from this page. */
const csrf: Middleware = {
  onRequest({ request }) {
    const session = readSession(queryClient);
    if (session && !SAFE.has(request.method)) request.headers.set("Gatepost-CSRF", session.csrf_token);
    return request;
  },
};

const KEY = "Idempotency-Key";

/** Requests to create something that have no answer yet, or whose answer was lost, by who sends them and where. */
const unanswered = new Map<string, { body: string; key: string }>();

const placeOf = ({ url, headers }: Request) =>
  [readSession(queryClient)?.user.id, headers.get("Gatepost-Channel"), url].join(" ");

/** A request that is repeated, by a second click or after its answer was lost, has the same key: it is executed once. */
const once: Middleware = {
  async onRequest({ request }) {
    const type = request.headers.get("Content-Type") ?? "application/json";
    if (request.method !== "POST" || request.headers.has(KEY) || type !== "application/json") return request;
    const [place, body] = [placeOf(request), await request.clone().text()];
    const before = unanswered.get(place);
    const sent = before?.body === body ? before : { body, key: randomKey() };
    unanswered.set(place, sent);
    request.headers.set(KEY, sent.key);
    return request;
  },
  onResponse({ request, response }) {
    if (response.status >= 500) return; // also of a proxy, which does not know whether it was executed
    const place = placeOf(request);
    if (unanswered.get(place)?.key === request.headers.get(KEY)) unanswered.delete(place);
    if (request.method === "DELETE") unanswered.clear(); // what is deleted can be created again
  },
};

function makeClient(headers: Record<string, string> = {}): Api {
  const client = createClient<paths>({ headers });
  client.use(csrf, once);
  return client;
}

/** For what belongs to the account or to the person who is signed in. */
export const api = makeClient();

const channelClients = new Map<string, Api>();

/** For what belongs to one channel. */
export function channelApi(channelId: string): Api {
  let client = channelClients.get(channelId);
  if (!client) {
    client = makeClient({ "Gatepost-Channel": channelId });
    channelClients.set(channelId, client);
  }
  return client;
}

type Answer<Body> = { data?: Body; error?: unknown; response: Response };

/** Waits for an answer; gives its envelope, or throws what went wrong. */
async function envelopeOf<Body>(call: Promise<Answer<Body>>): Promise<Body> {
  let answer: Answer<Body>;
  try {
    answer = await call;
  } catch {
    throw new GatewayUnreachable();
  }
  if (!answer.response.ok || answer.data === undefined) throw readProblem(answer.response, answer.error);
  return answer.data;
}

/** Waits for an answer whose data nobody needs. */
export async function askNothing(call: Promise<Answer<unknown>>): Promise<void> {
  await envelopeOf(call);
}

/** The data of an answer that may have none. */
export async function askMaybe<Data>(call: Promise<Answer<{ success: boolean; data?: Data }>>): Promise<Data | null> {
  return (await envelopeOf(call)).data ?? null;
}

/** The data of an answer. */
export async function ask<Data>(call: Promise<Answer<{ data: Data }>>): Promise<Data> {
  return (await envelopeOf(call)).data;
}

/** The bytes of an answer, while they arrive. */
export async function askStream(
  call: Promise<Answer<ReadableStream<Uint8Array> | null>>,
): Promise<ReadableStream<Uint8Array>> {
  return (await envelopeOf(call)) ?? new Blob().stream();
}

/** One page of a list that goes on in both directions. */
export async function askPart<Item>(
  call: Promise<Answer<{ data: Item[]; paging: { next: string | null; previous?: string | null } }>>,
): Promise<Page<Item> & { previous: string | null }> {
  const { data, paging } = await envelopeOf(call);
  return { items: data, next: paging.next, previous: paging.previous ?? null };
}

export type Page<Item> = { items: Item[]; next: string | null };

/** One page of a list. */
export async function askPage<Item>(
  call: Promise<Answer<{ data: Item[]; paging: { next: string | null } }>>,
): Promise<Page<Item>> {
  const { data, paging } = await envelopeOf(call);
  return { items: data, next: paging.next };
}
