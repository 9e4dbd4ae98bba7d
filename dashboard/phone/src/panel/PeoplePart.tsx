import { path } from "../shared/api";
import { people } from "../shared/resources";
import { phoneLink } from "../shared/route";
import type { Person } from "../shared/types";
import { ChangeAndDelete, GrowingList } from "./GrowingList";
import { PersonForm } from "./PersonForm";
import { Card, Tag } from "./ui";

/** People with a profile, and their scripts. */
export function PeoplePart() {
  return (
    <GrowingList
      of={people}
      empty="There are no people yet"
      why="Every phone number belongs to a person who reads and does not answer. Create a person to give a number a name, a character and a script."
      title="New person"
      add="Create a person"
      form={(end, cancel) => <PersonForm onEnd={end} cancel={cancel} />}
      row={(person) => <OnePerson key={person.phone} person={person} />}
    />
  );
}

function OnePerson({ person }: { person: Person }) {
  const lines = person.replies.length;
  return (
    <Card title={person.name} tags={<Tag>{person.character.replace("_", " ")}</Tag>}>
      <p class="hint">
        {person.phone} · {lines === 0 ? "no script" : lines === 1 ? "a script of 1 line" : `a script of ${lines} lines`}
        {person.reads && person.reads !== "automatic" && ` · reads ${person.reads.replace("_", " ")}`}
      </p>
      <ChangeAndDelete
        name={person.name}
        path={path`people/${person.phone}`}
        changes={["people"]}
        form={(end) => <PersonForm person={person} onEnd={end} cancel />}
        first={
          <a class="button primary" href={phoneLink([person.phone])}>
            Open the phone
          </a>
        }
      />
    </Card>
  );
}
