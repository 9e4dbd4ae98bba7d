import { useState } from "preact/hooks";
import { path } from "../shared/api";
import { people } from "../shared/resources";
import { phoneLink } from "../shared/route";
import type { Person } from "../shared/types";
import { PersonForm } from "./PersonForm";
import { Action, Card, Empty, Loaded, Tag } from "./ui";

/** People with a profile, and their scripts. */
export function PeoplePart() {
  const [creating, setCreating] = useState(false);
  return (
    <Loaded of={people}>
      {(all) => (
        <div class="stack">
          {all.length === 0 && (
            <Empty title="There are no people yet">
              Every phone number belongs to somebody who reads and does not answer. Create a person to give a number a
              name, a character and a script.
            </Empty>
          )}
          {all.length === 0 || creating ? (
            <Card title="New person">
              <PersonForm onEnd={() => setCreating(false)} cancel={creating} />
            </Card>
          ) : (
            <div class="row">
              <button type="button" class="button primary" onClick={() => setCreating(true)}>
                Create a person
              </button>
            </div>
          )}
          {all.map((person) => (
            <OnePerson key={person.phone} person={person} />
          ))}
        </div>
      )}
    </Loaded>
  );
}

function OnePerson({ person }: { person: Person }) {
  const [changing, setChanging] = useState(false);
  const lines = person.replies.length;
  return (
    <Card title={person.name} tags={<Tag>{person.character.replace("_", " ")}</Tag>}>
      <p class="hint">
        {person.phone} · {lines === 0 ? "no script" : lines === 1 ? "a script of 1 line" : `a script of ${lines} lines`}
        {person.reads && person.reads !== "automatic" && ` · reads ${person.reads.replace("_", " ")}`}
      </p>
      {changing ? (
        <PersonForm person={person} onEnd={() => setChanging(false)} cancel />
      ) : (
        <div class="row">
          <a class="button primary" href={phoneLink([person.phone])}>
            Open the phone
          </a>
          <button type="button" class="button" onClick={() => setChanging(true)}>
            Change
          </button>
          <Action
            label="Delete"
            look="danger"
            confirm={`Delete ${person.name}?`}
            requests={[{ method: "DELETE", path: path`people/${person.phone}` }]}
            changes={["people"]}
          />
        </div>
      )}
    </Card>
  );
}
