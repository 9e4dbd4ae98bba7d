import { useSignal } from "@preact/signals";
import { call, path } from "../shared/api";
import { Field } from "../shared/Field";
import { people } from "../shared/resources";
import { phoneWord } from "./logic/words";
import { PeopleLinks } from "./PersonPicker";
import { usePhone } from "./phone";

/** Create a person who is played in the page: messages are read when their chat is open. */
export async function createPerson(person: string, name: string): Promise<void> {
  await call("PUT", path`people/${person}`, { name: name.trim(), reads: "when_open" });
  await people.load();
}

/** The address names a person whom the sandbox does not know. */
export function UnknownPerson({ person }: { person: string }) {
  const phone = usePhone();
  const name = useSignal("");
  const create = () => {
    if (name.value.trim()) phone.attempt(() => createPerson(person, name.value));
  };
  return (
    <div class="phone-empty unknown">
      <h2>Nobody has {phoneWord(person)} yet</h2>
      <p>Create the person to use this phone.</p>
      <Field label="Name" value={name.value} onChange={(value) => (name.value = value)} onEnter={create} />
      <button type="button" class="button primary wide" disabled={!name.value.trim()} onClick={create}>
        Create the person
      </button>
      <PeopleLinks title="Or open a person who exists" />
    </div>
  );
}
