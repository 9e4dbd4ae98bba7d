import type { Channel } from "../../shared/channels";

export type TextPart = { text: string; href?: string };

const ADDRESS = /\bhttps?:\/\/[^\s<>"'`]+/gi;
const AFTER = /[.,:;!?)\]}]+$/; // what ends the sentence and not the address

/** Splits a text into links and the rest. Only http and https become links. */
export function findLinks(text: string): TextPart[] {
  const parts: TextPart[] = [];
  let end = 0;
  for (const found of text.matchAll(ADDRESS)) {
    const address = found[0].replace(AFTER, "");
    const href = safeLink(address);
    if (!href) continue;
    if (found.index > end) parts.push({ text: text.slice(end, found.index) });
    parts.push({ text: address, href });
    end = found.index + address.length;
  }
  if (end < text.length) parts.push({ text: text.slice(end) });
  return parts;
}

/** An address that may be opened, or nothing: `javascript:` and other schemes are not. */
export function safeLink(address: string | null): string | undefined {
  if (!address) return undefined;
  try {
    const url = new URL(address);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : undefined;
  } catch {
    return undefined;
  }
}

type Reached = Pick<Channel, "phone" | "network" | "sandbox_url">;

/** The page of the sandbox with the chat of a person and a channel. Null: the channel's network is no sandbox. */
export function phoneAddress({ phone, network, sandbox_url }: Reached, person: string): string | null {
  const { phone_number_id: number = phone } = network as { phone_number_id?: string };
  return sandbox_url ? `${sandbox_url}/#/${person}/${number}` : null;
}
