/** A message in one line of words: for the chat list, quotes, notices and screen readers. */

import type { Media, Message, Status, View } from "../../shared/types";
import { plainText } from "./formatting";

const MEDIA: Record<Media["kind"], string> = {
  image: "Photo",
  video: "Video",
  audio: "Audio",
  document: "Document",
  sticker: "Sticker",
};

/** Return the name of a file's kind, such as "Voice message". */
export function mediaWord(media: Media): string {
  if (media.voice) return "Voice message";
  return media.mime_type === "image/gif" || (media.kind === "video" && media.animated) ? "GIF" : MEDIA[media.kind];
}

const UNKNOWN = "A message that this phone cannot show";

/** Return a message in one line. What a stranger sent may have any form, and never throws here. */
export function summary(message: Pick<Message, "view" | "type" | "deleted">): string {
  if (message.deleted) return "This message was deleted";
  try {
    return String(viewSummary(message.view, message.type));
  } catch {
    return UNKNOWN;
  }
}

function viewSummary(view: View, type: string): string {
  const text = view.text ? plainText(view.text) : "";
  if (view.media) return mediaSummary(view.media, text);
  if (view.location) return joined("Location", view.location.name);
  if (view.contacts) return joined(counted(view.contacts.length, "Contact"), view.contacts[0]?.name);
  if (view.poll) return joined("Poll", view.poll.name);
  if (view.order) return orderSummary(view.order.items);
  if (view.reply) return view.reply.title;
  if (view.form) return "Form was filled in";
  if (text) return text;
  if (view.header?.media) return mediaWord(view.header.media);
  if (view.header?.text) return plainText(view.header.text);
  if (view.products) return "Products";
  if (view.cards) return counted(view.cards.length, "card");
  if (view.call) return "Call";
  return view.unsupported ? UNKNOWN : `Message of the type ${type}`;
}

function mediaSummary(media: Media, text: string): string {
  return joined(mediaWord(media), text || (media.kind === "document" ? media.filename : ""));
}

function orderSummary(items: { quantity: number }[]): string {
  const count = items.reduce((sum, item) => sum + item.quantity, 0);
  return `Order: ${counted(count, "item")}`;
}

function joined(word: string, rest: string | null | undefined): string {
  return rest ? `${word}: ${rest}` : word;
}

/** Return "1 item", "2 items"; one thing that is named alone ("Contact") has no number. */
export function counted(count: number, word: string): string {
  if (count === 1) return word[0] === word[0]?.toUpperCase() ? word : `1 ${word}`;
  return `${count} ${word.toLowerCase()}s`;
}

const STATUS: Record<Status, string> = {
  accepted: "Waiting",
  sent: "Sent",
  delivered: "Delivered",
  read: "Read",
  played: "Played",
  failed: "Not sent",
};

/** Return the word for a status. */
export function statusWord(status: Status): string {
  return STATUS[status] ?? status;
}

/** Return the size of a file: "12 kB". */
export function sizeWord(bytes: number | undefined | null): string {
  if (bytes === undefined || bytes === null) return "";
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${Math.round(bytes / 1000)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

const COUNTRY = /^(?:1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|\d{3})/; // calling codes

/** Return a phone number in groups: "+55 11 99999 8888". */
export function phoneWord(digits: string): string {
  if (!/^\d{7,15}$/.test(digits)) return digits;
  const country = COUNTRY.exec(digits)?.[0] ?? "";
  const middle = digits.slice(country.length, -4);
  const area = middle.length > 5 ? (middle.length === 6 ? 3 : 2) : 0;
  return `+${[country, middle.slice(0, area), middle.slice(area), digits.slice(-4)].filter(Boolean).join(" ")}`;
}

/** Return one or two letters for a picture that is missing. */
export function initials(name: string): string {
  const words = name.match(/[\p{L}\p{N}]+/gu) ?? [];
  const first = words[0] ?? "";
  const last = words.length > 1 ? (words.at(-1) ?? "") : "";
  return (
    [first, last]
      .map((word) => [...word][0] ?? "")
      .join("")
      .toUpperCase() || "?"
  );
}

/** Return a number from 0 to `count` - 1 that stays the same for a text: to choose a colour. */
export function shade(text: string, count: number): number {
  let hash = 0x811c9dc5; // FNV-1a
  for (const char of text) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  return hash % count;
}
