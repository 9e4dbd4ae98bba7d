import { useSignal } from "@preact/signals";
import { path, post } from "../../shared/api";
import { Field } from "../../shared/Field";
import { people } from "../../shared/resources";
import { go, route } from "../../shared/route";
import { loadChats } from "../../shared/store";
import type { PhoneState } from "../phone";
import { Sheet } from "../ui/Sheet";

/** The person moves to another number; every business of the chats is told. */
export function NumberSheet({ phone }: { phone: PhoneState }) {
  const number = useSignal("");
  const digits = number.value.replace(/\D/g, "");
  const ready = digits.length >= 7 && digits.length <= 15 && digits !== phone.person;
  const change = async () => {
    if (!ready) return;
    const done = await phone.attempt(async () => {
      await post(path`people/${phone.person}/number`, { phone: digits });
      await Promise.all([people.load(), loadChats(digits)]);
    });
    if (!done) return;
    phone.close();
    replacePerson(phone.person, digits);
  };
  return (
    <Sheet
      title="Change number"
      onClose={phone.close}
      footer={
        <button type="button" class="button primary wide" disabled={!ready} onClick={change}>
          Change number
        </button>
      }
    >
      <p>The chats move to the new number, and each business is told as its network does it.</p>
      <Field
        label="New number"
        hint="7 to 15 digits, with the country code"
        inputMode="tel"
        value={number.value}
        onChange={(value) => (number.value = value)}
        onEnter={change}
        autofocus
      />
    </Sheet>
  );
}

function replacePerson(old: string, person: string): void {
  const here = route.value;
  if (here.view !== "phones") return;
  const persons = [...new Set(here.persons.map((one) => (one === old ? person : one)))];
  const open = Object.fromEntries(Object.entries(here.open).filter(([key]) => key !== old));
  go({ ...here, persons, open }, true);
}
