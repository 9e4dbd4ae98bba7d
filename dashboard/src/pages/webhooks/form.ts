import { isSame } from "../../shared/fields";
import type { ChangeEndpoint, Webhook } from "./queries";
import { EVENT_TYPES, OFF_AT_FIRST } from "./words";

/** What the form of an endpoint holds. Headers are lines such as `X-Shop: 7`. */
export type EndpointForm = {
  url: string;
  events: Record<string, boolean>;
  headers: string;
  ordered: boolean;
  rateLimit: number | "";
};

export const NEW_ENDPOINT: EndpointForm = {
  url: "",
  events: Object.fromEntries(EVENT_TYPES.map(({ type }) => [type, type !== OFF_AT_FIRST])),
  headers: "",
  ordered: false,
  rateLimit: "",
};

export function formOf(endpoint: Webhook): EndpointForm {
  return {
    url: endpoint.url,
    events: endpoint.events,
    headers: Object.entries(endpoint.headers)
      .map(([name, value]) => `${name}: ${value}`)
      .join("\n"),
    ordered: endpoint.ordered,
    rateLimit: endpoint.rate_limit ?? "",
  };
}

type Headers = { headers: Record<string, string> } | { problem: string };

/** Reads header lines, or says which line is wrong. */
export function readHeaders(text: string): Headers {
  const headers: Record<string, string> = {};
  for (const line of text.split("\n").map((one) => one.trim())) {
    if (!line) continue;
    const colon = line.indexOf(":");
    if (colon < 1) return { problem: `“${line}” is not a header. Write a name, a colon and a value.` };
    headers[line.slice(0, colon).trim()] = line.slice(colon + 1).trim();
  }
  return { headers };
}

/** The body that creates or changes an endpoint. */
export function bodyOf(form: EndpointForm, headers: Record<string, string>) {
  return {
    url: form.url.trim(),
    events: form.events,
    headers,
    ordered: form.ordered,
    rate_limit: form.rateLimit === "" ? null : form.rateLimit,
  } satisfies ChangeEndpoint;
}

export type EndpointBody = ReturnType<typeof bodyOf>;

/** The change of an endpoint: only what was edited. */
export function changeOf(before: EndpointBody, after: EndpointBody): ChangeEndpoint {
  const { events, ...rest } = after;
  const switched = Object.entries(events).filter(([type, on]) => on !== before.events[type]);
  return {
    ...Object.fromEntries(
      Object.entries(rest).filter(([name, value]) => !isSame(value, before[name as keyof typeof rest])),
    ),
    ...(switched.length === 0 ? {} : { events: Object.fromEntries(switched) }),
  };
}
