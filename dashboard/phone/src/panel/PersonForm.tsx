import { useState } from "preact/hooks";
import { path } from "../shared/api";
import { Field } from "../shared/Field";
import type { Person } from "../shared/types";
import { CHARACTERS, READS } from "./characters";
import type { Request } from "./curl";
import { ScriptEditor } from "./ScriptEditor";
import { lineOf, replyOf, shorten } from "./script";
import { Area, Check, Choice, RequestForm } from "./ui";
import { compact, jsonOf, phoneDigits } from "./values";

const KEPT = ["user_id", "username", "phone_hidden", "identity_hash"] as const;

/** Creates a person, or changes one. The script can be edited as rows or as JSON. */
export function PersonForm({ person, onEnd, cancel }: { person?: Person; onEnd: () => void; cancel: boolean }) {
  const [phone, setPhone] = useState(person?.phone ?? "");
  const [name, setName] = useState(person?.name ?? "");
  const [character, setCharacter] = useState(person?.character ?? "normal");
  const [reads, setReads] = useState<string>(person?.reads ?? "automatic");
  const [lines, setLines] = useState((person?.replies ?? []).map(lineOf));
  const [json, setJson] = useState<string | null>(null); // the script as JSON, if it is edited so
  const replies = () => (json === null ? lines.map(replyOf) : jsonOf("The script", json));
  const build = (): Request => {
    const digits = phoneDigits(phone);
    if (!digits) throw new Error("Type the person's phone number, with the country code.");
    // The request replaces the whole profile, so it contains what the form does not show.
    const kept = Object.fromEntries(KEPT.map((field) => [field, person?.[field] || undefined]));
    const own = { name: name.trim(), character, reads, replies: replies() };
    return { method: "PUT", path: path`people/${digits}`, body: compact({ ...own, ...kept }) };
  };
  const toggle = (asJson: boolean) => {
    if (asJson) setJson(JSON.stringify(safely(replies, person?.replies.map(shorten) ?? []), null, 2));
    else {
      const read = safely(replies, null);
      if (Array.isArray(read)) setLines(read.map(lineOf));
      setJson(null);
    }
  };
  return (
    <RequestForm
      submit={person ? "Save" : "Create the person"}
      build={build}
      changes={["people"]}
      onDone={onEnd}
      onCancel={cancel ? onEnd : undefined}
    >
      <div class="fields">
        {!person && (
          <Field
            label="Phone number"
            value={phone}
            onChange={setPhone}
            inputMode="tel"
            hint="With the country code, such as 5511999998888"
          />
        )}
        <Field label="Name" value={name} onChange={setName} />
        <Choice label="Character" value={character} options={CHARACTERS} onChange={setCharacter} />
        <Choice label="Reads messages" value={reads} options={READS} onChange={setReads} />
      </div>
      <fieldset class="stack">
        <legend>Script</legend>
        {json === null ? (
          <ScriptEditor lines={lines} onChange={setLines} />
        ) : (
          <Area
            label="Replies as JSON"
            value={json}
            onChange={setJson}
            rows={8}
            hint="Each does one of text, tap, pick, react, order, submit and send."
          />
        )}
        <Check label="Edit as JSON" value={json !== null} onChange={toggle} />
      </fieldset>
    </RequestForm>
  );
}

function safely<T, U>(read: () => T, otherwise: U): T | U {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
