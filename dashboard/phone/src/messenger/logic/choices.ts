/** The phones that can be opened: of people with a profile, of others who have chats, and those linked by QR code. */

import type { Chat, Person, QrPhone } from "../../shared/types";

export interface PhoneChoice {
  phone: string;
  name: string; // empty: none is known
  note: string;
}

/** Return each phone once: people first, then those who only have chats, then phones linked by QR code. */
export function phoneChoices(people: Person[], chats: Chat[], linked: QrPhone[]): PhoneChoice[] {
  const found = new Map<string, PhoneChoice>();
  const add = (phone: string, name: string, note: string) => {
    if (!found.has(phone)) found.set(phone, { phone, name, note });
  };
  for (const one of people) add(one.phone, one.name, "");
  for (const one of chats) add(one.person, one.name, "no profile");
  for (const one of linked) add(one.phone, one.name, "links by QR code");
  return [...found.values()];
}
