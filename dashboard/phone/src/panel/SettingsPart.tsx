import { useState } from "preact/hooks";
import { Field } from "../shared/Field";
import { settings } from "../shared/resources";
import type { Settings } from "../shared/types";
import { CHARACTERS } from "./characters";
import { Action, Card, Choice, Loaded, RequestForm } from "./ui";
import { numberOf } from "./values";

const WINDOWS = [
  ["false", "Off: free text is always delivered"],
  ["async", "On: accepted, then failed with 131047"],
  ["sync", "On: refused with 131047"],
] as const;

/** The settings that change what a business sees most. */
export function SettingsPart() {
  return <Loaded of={settings}>{(value) => <Forms value={value} />}</Loaded>;
}

function Forms({ value }: { value: Settings }) {
  const window = value.limits.window === true ? "async" : String(value.limits.window);
  const delays = value.delays;
  const [draft, setDraft] = useState({
    window,
    character: value.default_character,
    delivered: String(delays.delivered),
    read: String(delays.read),
    throughput: value.limits.throughput === null ? "" : String(value.limits.throughput),
    marketing: value.limits.marketing === null ? "" : String(value.limits.marketing),
  });
  const set = (name: keyof typeof draft) => (text: string) => setDraft({ ...draft, [name]: text });
  const build = () => ({
    method: "PATCH" as const,
    path: "settings",
    body: {
      limits: {
        window: draft.window === "false" ? false : draft.window,
        throughput: numberOf("Messages per second", draft.throughput) ?? null,
        marketing: numberOf("Marketing per person", draft.marketing) ?? null,
      },
      delays: {
        delivered: numberOf("Delivered after", draft.delivered),
        read: numberOf("Read after", draft.read),
      },
      default_character: draft.character,
    },
  });
  return (
    <div class="stack">
      <Card title="All numbers">
        <RequestForm submit="Save" build={build} changes={["settings", "numbers"]}>
          <div class="fields">
            <Choice
              label="24-hour window"
              value={draft.window}
              options={WINDOWS}
              onChange={set("window")}
              hint="With a window, free text needs a message from the person in the last 24 hours."
            />
            <Choice
              label="Character of strangers"
              value={draft.character}
              options={CHARACTERS}
              onChange={set("character")}
              hint="How people react who have no profile."
            />
            <Field
              label="Delivered after (seconds)"
              value={draft.delivered}
              onChange={set("delivered")}
              inputMode="decimal"
            />
            <Field label="Read after (seconds)" value={draft.read} onChange={set("read")} inputMode="decimal" />
            <Field
              label="Messages per second"
              value={draft.throughput}
              onChange={set("throughput")}
              inputMode="numeric"
              hint="Of one number. Empty: no limit"
            />
            <Field
              label="Marketing per person"
              value={draft.marketing}
              onChange={set("marketing")}
              inputMode="numeric"
              hint="Marketing templates in 24 hours; more fail with 131049. Empty: no limit"
            />
          </div>
        </RequestForm>
      </Card>
      <Card title="Start over">
        <p class="hint">Deletes people, chats, faults and the ledger, and restores the settings of the start.</p>
        <div class="row">
          <Action
            label="Reset, keep the numbers"
            confirm="Really reset?"
            requests={[{ method: "POST", path: "reset", body: { keep_numbers: true } }]}
            changes={["all"]}
          />
          <Action
            label="Reset everything"
            look="danger"
            confirm="Really delete everything?"
            requests={[{ method: "POST", path: "reset", body: {} }]}
            changes={["all"]}
          />
        </div>
      </Card>
    </div>
  );
}
