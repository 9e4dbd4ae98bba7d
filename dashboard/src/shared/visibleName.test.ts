import { expect, test } from "vitest";
import { titleOf } from "../pages/contacts/form";
import { recipientName } from "../pages/inbox/draftWords";
import { personName } from "../pages/inbox/words";
import { visibleName } from "./visibleName";

const INVISIBLE = ["\u200b\u200d\u2060", "\u200e", "\u3164", "\u2800", " \u00a0", "\ufe0f", "\u202e", ""];

test.each(INVISIBLE)("a person whose name %j cannot be seen is shown by the number", (name) => {
  const contact = { id: "ct_1", phone: "5511", name };
  expect(personName({ contact } as never)).toBe("+5511");
  expect(recipientName({ contact, phone: null } as never)).toBe("+5511");
  expect(titleOf(contact)).toBe("+5511");
});

test.each(["Ana", "محمد", "👨‍👩‍👧‍👦", "\u202eAna", "ᅟa", "1", "."])("the name %j is kept as it is", (name) => {
  expect(visibleName(name)).toBe(name);
});
