import { expect, it } from "vitest";
import type { Chat, Person, QrPhone } from "../../shared/types";
import { phoneChoices } from "./choices";

it("lists each phone once", () => {
  const people = [{ phone: "1", name: "Ana" }] as Person[];
  const chats = ["2", "1", "2"].map((person) => ({ person, name: `Person ${person}` })) as Chat[];
  const linked = [
    { phone: "3", name: "Shop" },
    { phone: "1", name: "Other" },
  ] as QrPhone[];
  expect(phoneChoices(people, chats, linked)).toEqual([
    { phone: "1", name: "Ana", note: "" },
    { phone: "2", name: "Person 2", note: "no profile" },
    { phone: "3", name: "Shop", note: "links by QR code" },
  ]);
});
