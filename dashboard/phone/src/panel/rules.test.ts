import { expect, test } from "vitest";
import { DURATIONS, describeRule, PRESETS, requestsOf } from "./presets";
import { buildRule, FAULTS, type RuleDraft } from "./rules";

const EMPTY: RuleDraft = {
  fault: "drop",
  phone_number_id: "",
  to: "",
  labels: "",
  types: "",
  link: "",
  nth: "",
  every: "",
  probability: "",
  times: "",
  code: "",
  status: "",
  details: "",
  seconds: "",
  copies: "",
  hold: "",
  lasts: "",
  drop: false,
};

test("only the fields of the fault are sent", () => {
  const draft = {
    ...EMPTY,
    fault: "delay",
    code: "131016",
    seconds: "5",
    labels: "sent, read",
    types: "text",
    lasts: "60",
  };
  expect(buildRule(draft).body).toEqual({ fault: "delay", seconds: 5, labels: ["sent", "read"], lasts: 60 });
  expect(buildRule(EMPTY).body).toEqual({ fault: "drop" });
});

test("what is no number is said", () => {
  expect(() => buildRule({ ...EMPTY, nth: "third" })).toThrow('nth must be a number, not "third".');
});

test("a preset is for one number or all, for a while or until it is removed", () => {
  const [first] = PRESETS;
  if (!first) throw new Error("no preset");
  expect(requestsOf(first, "60", "")).toEqual([
    { method: "POST", path: "faults", body: { fault: "http_error", status: 500, lasts: 60 } },
  ]);
  expect(requestsOf(first, "", "77")[0]?.body).toEqual({ fault: "http_error", status: 500, phone_number_id: "77" });
  expect(DURATIONS[0]).toEqual(["60", "for a minute"]);
  for (const preset of PRESETS) for (const rule of preset.rules) expect(FAULTS).toHaveProperty(String(rule.fault));
});

test("a rule is described by what differs from the default", () => {
  const rule = {
    id: "f1",
    fault: "refuse",
    to: null,
    labels: ["sent", "read"],
    code: 5,
    copies: 2,
    hold: 6,
    drop: false,
  };
  expect(describeRule(rule)).toBe("labels: sent, read · code: 5 · hold: 6");
});
