import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { people } from "../shared/resources";
import { go, route } from "../shared/route";
import { adding, toggleAdding } from "./adding";
import { allNew, pageTitle } from "./logic/missed";
import { phoneWord } from "./logic/words";
import "./styles/index.css";
import { PersonPicker } from "./PersonPicker";
import { Phone } from "./Phone";
import { soundOn, toggleSound } from "./sound";
import { Icon } from "./ui/Icon";
import { IconButton } from "./ui/IconButton";
import { useNarrow } from "./useNarrow";

/** The phones of some people: side by side, or one at a time on a small screen. */
export function Messenger({ persons }: { persons: string[] }) {
  const narrow = useNarrow();
  const active = useSignal(persons[0] ?? "");
  const shown = persons.includes(active.value) ? active.value : (persons[0] ?? "");
  useTitle(persons);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another set of phones ends the adding
  useEffect(() => {
    adding.value = false;
  }, [persons.join()]);
  if (!persons.length) {
    return (
      <div class="messenger start">
        <PersonPicker beside={[]} title="Whose phone?" />
      </div>
    );
  }
  return (
    <div class="messenger">
      {narrow && persons.length === 1 && !adding.value ? null : (
        <Toolbar>
          {narrow && persons.length > 1 ? (
            <Switch persons={persons} shown={shown} onSelect={(person) => (active.value = person)} />
          ) : null}
        </Toolbar>
      )}
      <div class="phones">
        {(narrow ? [shown] : persons).map((person) => (
          <div class="phone-place" key={person}>
            <Phone person={person} />
            {persons.length > 1 ? (
              <IconButton
                icon="close"
                label={`Remove the phone of ${nameOf(person)}`}
                class="remove"
                onClick={() => remove(person)}
              />
            ) : null}
          </div>
        ))}
        {adding.value ? (
          <div class="picker-place">
            <PersonPicker beside={persons} title="Add a phone" />
          </div>
        ) : null}
      </div>
    </div>
  );
}

function Toolbar({ children }: { children: ComponentChildren }) {
  return (
    <div class="toolbar">
      {children}
      <span class="toolbar-space" />
      <button type="button" class="button tool" aria-pressed={soundOn.value} onClick={toggleSound}>
        <Icon name={soundOn.value ? "bell" : "silent"} />
        <span class="tool-label">Sound</span>
      </button>
      <button type="button" class="button tool" aria-expanded={adding.value} onClick={toggleAdding}>
        <Icon name={adding.value ? "close" : "plus"} />
        <span class="tool-label">Add a phone</span>
      </button>
    </div>
  );
}

function Switch({
  persons,
  shown,
  onSelect,
}: {
  persons: string[];
  shown: string;
  onSelect: (person: string) => void;
}) {
  return (
    <fieldset class="phone-switch" aria-label="Phones">
      {persons.map((person) => (
        <button type="button" key={person} aria-pressed={person === shown} onClick={() => onSelect(person)}>
          {nameOf(person)}
        </button>
      ))}
    </fieldset>
  );
}

function nameOf(person: string): string {
  return people.value.value?.find((one) => one.phone === person)?.name.slice(0, 100) || phoneWord(person);
}

function remove(person: string): void {
  const here = route.value;
  if (here.view !== "phones") return;
  const { [person]: _, ...open } = here.open;
  go({ ...here, persons: here.persons.filter((one) => one !== person), open });
}

/** Show in the title of the page whose phone it is, and how many messages are new. */
function useTitle(persons: string[]): void {
  const title = pageTitle(allNew.value, persons.map(nameOf).join(", "));
  useEffect(() => {
    document.title = title;
  }, [title]);
  useEffect(
    () => () => {
      document.title = pageTitle(0, "");
    },
    [],
  );
}
