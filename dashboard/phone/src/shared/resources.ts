/** Lists of the control API that the page shows: each is read when it is first used, and again when the feed says so. */

import { type Signal, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { get, messageOf, path } from "./api";
import type { BusinessNumber, Chat, Clock, Person, QrPhone, Rule, Session, Settings, Template } from "./types";

export class Resource<T> {
  readonly value: Signal<T | null> = signal(null);
  readonly problem = signal("");
  private reading: Promise<void> | null = null;
  private again = false;
  used = false;

  constructor(readonly path: string) {}

  /** Reads it. A change during the reading makes it read a second time, so that the last answer is never old. */
  load(): Promise<void> {
    this.used = true;
    if (this.reading) this.again = true;
    this.reading ??= this.read().finally(() => {
      this.reading = null;
    });
    return this.reading;
  }

  /** Reads it if it is used. */
  async refresh(): Promise<void> {
    if (this.used) await this.load();
  }

  private async read(): Promise<void> {
    do {
      this.again = false;
      try {
        this.value.value = await get<T>(this.path);
        this.problem.value = "";
      } catch (error) {
        this.problem.value = messageOf(error);
      }
    } while (this.again);
  }
}

/** Returns the value of a resource for a component, and reads it at the first use; null before the answer. */
export function useResource<T>(resource: Resource<T>): T | null {
  useEffect(() => {
    if (!resource.used) resource.load();
  }, [resource]);
  return resource.value.value;
}

export const people = new Resource<Person[]>("people");
export const numbers = new Resource<BusinessNumber[]>("numbers");
export const phones = new Resource<QrPhone[]>("phones");
export const sessions = new Resource<Session[]>("sessions");
export const faults = new Resource<Rule[]>("faults");
export const templates = new Resource<Template[]>("templates");
export const clock = new Resource<Clock>("clock");
export const settings = new Resource<Settings>("settings");

export const recent = new Resource<{ chats: Chat[] }>("chats?limit=200");
const strangers = new Map<string, Resource<Person>>(); // people without a profile, by phone

/** Returns the profile of a person; of one without, what the sandbox assumes. Null before the answer. */
export function usePerson(phone: string): { profile: Person | null; listed: boolean } {
  const list = useResource(people);
  const listed = list?.find((one) => one.phone === phone) ?? null;
  const stranger = strangers.get(phone) ?? new Resource<Person>(path`people/${phone}`);
  strangers.set(phone, stranger);
  const missing = list !== null && !listed;
  useEffect(() => {
    if (missing && !stranger.used) stranger.load();
  }, [missing, stranger]);
  return { profile: listed ?? stranger.value.value, listed: listed !== null };
}

const all: Record<string, Resource<unknown>> = {
  people,
  numbers,
  phones,
  sessions,
  faults,
  templates,
  clock,
  settings,
  recent,
};

/** Reads again what has changed; "all" is everything that is used. */
export function refresh(what: string): void {
  const changed = what === "all" ? Object.values(all) : [all[what]];
  for (const one of changed) one?.refresh();
  if (what === "all" || what === "people") for (const one of strangers.values()) one.refresh();
}
