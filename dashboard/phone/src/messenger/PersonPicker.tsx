import { useSignal } from "@preact/signals";
import { messageOf } from "../shared/api";
import { Field } from "../shared/Field";
import { people, phones, recent, useResource } from "../shared/resources";
import { go, phoneLink } from "../shared/route";
import { type PhoneChoice, phoneChoices } from "./logic/choices";
import { freeNumber } from "./logic/suggest";
import { phoneWord } from "./logic/words";
import { createPerson } from "./UnknownPerson";
import { Avatar } from "./ui/Avatar";

const MOST = 100; // people in the list

function useChoices(): PhoneChoice[] {
  const [known, chats, linked] = [useResource(people), useResource(recent), useResource(phones)];
  return phoneChoices(known ?? [], chats?.chats ?? [], linked ?? []);
}

/** The phones that the sandbox knows, as links; with `beside`, next to those that are shown. */
export function PeopleLinks({ title, beside = [] }: { title: string; beside?: string[] }) {
  const known = useChoices().filter((one) => !beside.includes(one.phone));
  if (!known.length) return null;
  return (
    <nav class="people-links" aria-label={title}>
      <p class="picker-label">{title}</p>
      <ul>
        {known.slice(0, MOST).map((one) => (
          <li key={one.phone}>
            <a href={phoneLink([...beside, one.phone])}>
              <Avatar name={one.name || one.phone} small />
              <span class="file-text">
                <span class="file-name" dir="auto">
                  {one.name || phoneWord(one.phone)}
                </span>
                <span class="file-details">{[phoneWord(one.phone), one.note].filter(Boolean).join(" · ")}</span>
              </span>
            </a>
          </li>
        ))}
      </ul>
      {known.length > MOST ? <p class="hint">{known.length - MOST} more are in the panel.</p> : null}
    </nav>
  );
}

/** Choose whose phone is shown, or create a person. */
export function PersonPicker({ beside, title }: { beside: string[]; title: string }) {
  const name = useSignal("");
  const typed = useSignal<string | null>(null);
  const problem = useSignal("");
  const known = useChoices();
  const number = typed.value ?? freeNumber(known.map((one) => one.phone));
  const digits = number.replace(/\D/g, "");
  const ready = Boolean(name.value.trim()) && digits.length >= 7 && digits.length <= 15;
  const create = async () => {
    if (!ready) return;
    try {
      await createPerson(digits, name.value);
      go({ view: "phones", persons: [...new Set([...beside, digits])], open: {} });
    } catch (error) {
      problem.value = messageOf(error);
    }
  };
  return (
    <section class="picker" aria-label={title}>
      {beside.length ? <h2>{title}</h2> : <h1>{title}</h1>}
      <PeopleLinks title="People" beside={beside} />
      <p class="picker-label">A new person</p>
      <Field label="Name" value={name.value} onChange={(value) => (name.value = value)} onEnter={create} />
      <Field
        label="Phone number"
        hint="7 to 15 digits, with the country code"
        inputMode="tel"
        value={number}
        onChange={(value) => (typed.value = value)}
        onEnter={create}
      />
      <button type="button" class="button primary wide" disabled={!ready} onClick={create}>
        Create the phone
      </button>
      {problem.value ? (
        <p class="problem" role="alert">
          {problem.value}
        </p>
      ) : null}
    </section>
  );
}
