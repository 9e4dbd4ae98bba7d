// Fault rules and template decisions.

import { act, byId, choices, el, fill, onSubmit } from "/page/dom.js";
import { control, part } from "/page/api.js";

const FAULTS = {
  refuse: "Sends are refused with a code.",
  http_error: "Sends get a plain HTTP error.",
  drop: "The connection is cut before the message is accepted.",
  accept_drop: "The message is accepted, then the connection is cut.",
  accept_hang: "The message is accepted; the answer comes so many seconds later.",
  fail: "The message is accepted, then fails with a code.",
  hold: "A template is held back for a while.",
  suppress: "Callbacks are never posted.",
  drop_echo: "Callbacks come without the callback data.",
  delay: "Callbacks are posted so many seconds late.",
  duplicate: "Callbacks are posted twice.",
  reorder: "Callbacks are held and posted last come first.",
};
const NARROWED = ["phone_number_id", "to", "code", "status", "seconds", "nth", "every", "times", "probability"];
// What may be decided about a template in each status.
const DECISIONS = {
  PENDING: ["approve", "reject"],
  REJECTED: ["approve"],
  APPROVED: ["pause", "reject", "disable"],
  PAUSED: ["resume", "reject", "disable"],
};

export function begin() {
  const form = byId("fault-new");
  choices(form.elements.fault, Object.keys(FAULTS).map((name) => [name, name]));
  const hint = () => { byId("fault-hint").textContent = FAULTS[form.elements.fault.value] || ""; };
  form.elements.fault.addEventListener("change", hint);
  form.addEventListener("reset", () => setTimeout(hint));
  hint();
  onSubmit(form, (rule) => control("POST", "faults", rule));
}

export function showFaults(rules, numbers) {
  choices(byId("fault-new").elements.phone_number_id, [["", "any"], ...numbers.map((one) => [one.id, one.label])]);
  fill(byId("fault-list"), rules, (rule) => el("li", {},
    el("span", { class: "grow" }, `${rule.fault} ${narrowed(rule)}`),
    el("span", { class: "tag" }, `struck ${rule.struck} of ${rule.seen}`),
    act("Remove", () => control("DELETE", `faults/${part(rule.id)}`), "danger")),
  "Nothing goes wrong on purpose. Add a rule below to see how your program takes it.");
}

function narrowed(rule) {
  const given = NARROWED.filter((name) => rule[name] !== null && rule[name] !== undefined);
  return given.map((name) => `${name}: ${rule[name]}`).join(" · ");
}

export function showTemplates(templates) {
  fill(byId("template-list"), templates, (template) => el("li", {},
    el("span", { class: "grow" }, `${template.name} · ${template.language} · ${template.category}`),
    el("span", { class: "tag" }, template.status),
    ...(DECISIONS[template.status] || []).map((decision) => act(decision, () =>
      control("POST", `templates/${part(template.id)}/review`, { decision })))),
  "No templates. Each account has two from the start, as soon as a number of it is registered.");
}
