import { useState } from "preact/hooks";
import { Field } from "../shared/Field";
import { buildRule, FAULTS, type RuleDraft } from "./rules";
import { Check, Choice, RequestForm } from "./ui";

const NEW: RuleDraft = {
  fault: "refuse",
  phone_number_id: "",
  to: "",
  labels: "",
  types: "",
  link: "",
  nth: "",
  every: "",
  probability: "",
  times: "",
  code: "131016",
  status: "",
  details: "",
  seconds: "",
  copies: "",
  hold: "",
  lasts: "",
  drop: false,
};

/** A form for any fault rule. Only the fields of the chosen fault are shown. */
export function RuleForm({ places }: { places: [string, string][] }) {
  const [draft, setDraft] = useState(NEW);
  const set = (name: keyof RuleDraft) => (value: string) => setDraft({ ...draft, [name]: value });
  const kind = FAULTS[draft.fault];
  const field = (name: Exclude<keyof RuleDraft, "drop">, label: string, hint?: string) => (
    <Field label={label} value={draft[name]} onChange={set(name)} hint={hint} />
  );
  const own = (name: string) => kind?.fields.includes(name);
  return (
    <RequestForm submit="Add the rule" changes={["faults"]} build={() => buildRule(draft)}>
      <div class="fields">
        <Choice
          label="Fault"
          value={draft.fault}
          options={Object.keys(FAULTS).map((name) => [name, name] as const)}
          onChange={set("fault")}
          hint={kind?.explanation}
        />
        {own("code") && field("code", "Error code")}
        {own("status") && field("status", "HTTP status")}
        {own("details") && field("details", "Details")}
        {own("seconds") && field("seconds", "Seconds")}
        {own("copies") && field("copies", "Copies", "2 if empty")}
        {own("hold") && field("hold", "Hold so many", "2 if empty")}
        {own("drop") && (
          <Check label="Drop it in the end" value={draft.drop} onChange={(drop) => setDraft({ ...draft, drop })} />
        )}
      </div>
      <fieldset class="fields">
        <legend>Applies to</legend>
        <Choice label="Number" value={draft.phone_number_id} options={places} onChange={set("phone_number_id")} />
        {field("to", "Person", "Digits; * and ? as in file names. Empty: everyone")}
        {kind?.of === "updates"
          ? field("labels", "Updates", "Such as: sent, delivered, read, failed, message")
          : field("types", "Types of message", "Such as: text, image, template")}
        {kind?.of === "sends" && field("link", "Link to a file", "With * and ?")}
        {field("nth", "Only the nth match")}
        {field("every", "Every nth match")}
        {field("probability", "Probability", "0 to 1")}
        {field("times", "At most so many times")}
        {field("lasts", "Ends after so many seconds")}
      </fieldset>
    </RequestForm>
  );
}
