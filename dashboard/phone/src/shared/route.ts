/** The address of the page: what is shown is in its hash.
 *
 *   #/                          the start: which person?
 *   #/PERSON                    one phone
 *   #/PERSON/NUMBER             one phone with a chat open
 *   #/P1+P2/NUMBER+P3           several phones side by side, each with or without an open chat
 *   #/panel/PART                the control panel
 */

import { signal } from "@preact/signals";

export interface Phones {
  view: "phones";
  persons: string[];
  open: Record<string, string>; // the number of the open chat, by person
}

export interface Panel {
  view: "panel";
  part: string;
}

export type Route = Phones | Panel;

/** Reads a hash. Whatever it contains, the result is a route. */
export function parseRoute(hash: string): Route {
  const text = hash.replace(/^#?\/?/, "");
  if (text === "panel" || text.startsWith("panel/")) return { view: "panel", part: decode(text.slice(6)) };
  const phones: Phones = { view: "phones", persons: [], open: {} };
  for (const part of text.split("+").slice(0, 12)) {
    const [first = "", second = ""] = part.split("/");
    const person = digits(decode(first));
    if (!person || phones.persons.includes(person)) continue;
    phones.persons.push(person);
    const number = digits(decode(second));
    if (number) phones.open[person] = number;
  }
  return phones;
}

/** Returns the hash of a route. */
export function formatRoute(route: Route): string {
  if (route.view === "panel") return `#/panel${route.part ? `/${encodeURIComponent(route.part)}` : ""}`;
  return `#/${route.persons.map((one) => (route.open[one] ? `${one}/${route.open[one]}` : one)).join("+")}`;
}

/** Returns the hash that opens phones: the link of a person. */
export function phoneLink(persons: string[], open: Record<string, string> = {}): string {
  return formatRoute({ view: "phones", persons, open });
}

export const route = signal<Route>(parseRoute(globalThis.location?.hash ?? ""));

/** Goes to another address; `replace` leaves no entry in the history. */
export function go(to: Route, replace = false): void {
  const hash = formatRoute(to);
  if (hash !== location.hash) history[replace ? "replaceState" : "pushState"](null, "", hash);
  route.value = to;
}

/** Opens a chat on one of the phones that are shown, or closes it (null). */
export function openChat(person: string, number: string | null): void {
  const now = route.value;
  const phones: Phones = now.view === "phones" ? now : { view: "phones", persons: [person], open: {} };
  const { [person]: _, ...others } = phones.open;
  go({ ...phones, open: number ? { ...others, [person]: number } : others });
}

/** Gives the phone of a person another number, with its open chat. */
export function renamePerson(old: string, person: string): void {
  const now = route.value;
  if (now.view !== "phones" || !now.persons.includes(old)) return;
  const persons = [...new Set(now.persons.map((one) => (one === old ? person : one)))];
  const { [old]: chat, ...others } = now.open;
  go({ ...now, persons, open: chat ? { ...others, [person]: chat } : others }, true);
}

globalThis.addEventListener?.("hashchange", () => {
  route.value = parseRoute(location.hash);
});
globalThis.addEventListener?.("popstate", () => {
  route.value = parseRoute(location.hash);
});

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns the digits of a phone number as people write it; empty if there is anything else in it. */
function digits(text: string): string {
  const bare = text.replace(/[\s().-]|^\+/g, "");
  return /^\d{1,20}$/.test(bare) ? bare : "";
}
