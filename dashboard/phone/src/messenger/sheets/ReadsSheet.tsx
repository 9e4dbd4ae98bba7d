import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { call, path } from "../../shared/api";
import { people } from "../../shared/resources";
import type { Person, Reads } from "../../shared/types";
import type { PhoneState } from "../phone";
import { Sheet } from "../ui/Sheet";

const CHOICES: { value: Reads; title: string; hint: string }[] = [
  { value: "automatic", title: "Automatic", hint: "Messages are read after a moment, as the person's character does." },
  { value: "when_open", title: "When the chat is open", hint: "Only while this page shows the chat and is visible." },
  { value: "never", title: "Never", hint: "The person does not send read receipts." },
];

/** When messages count as read. */
export function ReadsSheet({ phone, profile, name }: { phone: PhoneState; profile: Person | null; name: string }) {
  const chosen = useSignal<Reads>(profile?.reads ?? "automatic");
  const group = useId();
  const choose = (reads: Reads) => {
    chosen.value = reads;
    const body = { ...(profile ?? { name }), reads };
    phone.attempt(async () => {
      await call("PUT", path`people/${phone.person}`, body);
      await people.load();
    });
  };
  return (
    <Sheet title="Read receipts" onClose={phone.close}>
      <fieldset class="list-section">
        <legend class="visually-hidden">Messages are read</legend>
        {CHOICES.map(({ value, title, hint }) => (
          <label class="list-row" key={value}>
            <span>
              <span class="list-title">{title}</span>
              <span class="file-details">{hint}</span>
            </span>
            <input type="radio" name={group} checked={chosen.value === value} onChange={() => choose(value)} />
          </label>
        ))}
      </fieldset>
    </Sheet>
  );
}
