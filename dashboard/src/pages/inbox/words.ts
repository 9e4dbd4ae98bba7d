import { gatewayNow } from "../../shared/gatewayTime";
import { visibleName } from "../../shared/visibleName";
import type { Conversation, Message } from "./queries";

/** What a person is called: the name, else the number, else the id on the network. */
export function personName({ contact }: Pick<Conversation, "contact">): string {
  return visibleName(contact.name) || (contact.phone ? `+${contact.phone}` : "Hidden number");
}

/** Whether a message belongs to a group or a broadcast, which a linked phone may keep, too. */
export function isOfGroup(message: Pick<Message, "context"> | null): boolean {
  return Boolean((message?.context as { chat?: object } | null | undefined)?.chat);
}

/** Who sent a message, if that is not the viewer: a colleague, a program, or the phone of the channel. */
export function senderWords({ sent_by: sender }: Pick<Message, "sent_by">, viewer: string): string | null {
  if (!sender || sender.id === viewer) return null;
  switch (sender.kind) {
    case "user":
      return sender.label || "A former colleague";
    case "key":
      return sender.label ? `API: ${sender.label}` : "API";
    case "phone":
      return "Phone";
    case "operator":
      return "Operator";
  }
}

export type TickLook = { label: string; ticks: 0 | 1 | 2; read: boolean; failed: boolean };

const TICKS: Record<Message["status"], TickLook> = {
  SCHEDULED: { label: "Scheduled", ticks: 0, read: false, failed: false },
  PENDING: { label: "Waiting to be sent", ticks: 0, read: false, failed: false },
  SENT: { label: "Sent", ticks: 1, read: false, failed: false },
  DELIVERED: { label: "Delivered", ticks: 2, read: false, failed: false },
  READ: { label: "Read", ticks: 2, read: true, failed: false },
  PLAYED: { label: "Played", ticks: 2, read: true, failed: false },
  FAILED: { label: "Not sent", ticks: 0, read: false, failed: true },
  EXPIRED: { label: "Expired before it could be sent", ticks: 0, read: false, failed: true },
  CANCELED: { label: "Canceled", ticks: 0, read: false, failed: true },
  RECEIVED: { label: "Received", ticks: 0, read: false, failed: false },
};

export function tickLook(status: Message["status"]): TickLook {
  return TICKS[status];
}

type Failure = { what: string; advice: string | null };

/** Why a message did not reach the person, and what to do about it. */
export function failureWords({ status, error }: Pick<Message, "status" | "error">): Failure | null {
  if (status === "CANCELED") return { what: "The message was canceled.", advice: null };
  if (status === "EXPIRED") {
    return { what: "The message waited too long and has expired.", advice: "Send it again if it still matters." };
  }
  if (status !== "FAILED") return null;
  const { title, details, advice } = (error ?? {}) as { title?: string; details?: string; advice?: string };
  const parts = [title, details].filter((one) => typeof one === "string" && one);
  const what = [...new Set(parts)].join(": ").replace(/([^.!?])$/, "$1.");
  return { what: what || "The network did not take the message.", advice: typeof advice === "string" ? advice : null };
}

const day = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const dayAndYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "long", year: "numeric" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const weekday = new Intl.DateTimeFormat(undefined, { weekday: "short" });
const date = new Intl.DateTimeFormat(undefined, { day: "2-digit", month: "2-digit", year: "2-digit" });
const DAY_MS = 86_400_000;

export function timeOfDay(time: string): string {
  return clock.format(new Date(time));
}

/** The heading of a day in the thread. */
export function dayWords(time: string, now: Date = new Date(gatewayNow())): string {
  const then = new Date(time);
  const days = daysBetween(then, now);
  if (days === 0) return "Today";
  if (days === 1) return "Yesterday";
  return then.getFullYear() === now.getFullYear() ? day.format(then) : dayAndYear.format(then);
}

/** A time in the list of conversations: the hour today, then the day, then the date. */
export function listTime(time: string, now: Date = new Date(gatewayNow())): string {
  const then = new Date(time);
  const days = daysBetween(then, now);
  if (days <= 0) return clock.format(then);
  if (days === 1) return "Yesterday";
  return days < 7 ? weekday.format(then) : date.format(then);
}

function daysBetween(then: Date, now: Date): number {
  const start = (one: Date) => new Date(one.getFullYear(), one.getMonth(), one.getDate()).getTime();
  return Math.round((start(now) - start(then)) / DAY_MS);
}
