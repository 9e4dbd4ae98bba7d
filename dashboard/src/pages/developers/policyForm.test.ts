import { expect, test } from "vitest";
import type { McpPolicy } from "./mcpQueries";
import { readPhones, toRequest, toValues } from "./policyForm";

const POLICY: McpPolicy = {
  mode: "draft",
  dry_run: false,
  recipients: { anyone: false, wrote_within_days: 30, labels: [], phones: [] },
  no_crossing: true,
  sends_per_hour: 30,
  sends_per_conversation: 10,
  unanswered: 3,
  quiet_hours: null,
  types: null,
  templates: null,
  link_hosts: null,
  files: false,
  ends_at: null,
  sentences: [],
  warning: null,
  updated_at: null,
  updated_by: null,
};
const { sentences, warning, updated_at, updated_by, ...RULES } = POLICY;

const through = (part: Partial<McpPolicy>) => toRequest(toValues({ ...POLICY, ...part }, "Europe/Berlin"));

test("rules are the same after the form", () => {
  expect(through({})).toEqual(RULES);
  const changed = {
    mode: "send" as const,
    recipients: { anyone: false, wrote_within_days: null, labels: ["lb_1"], phones: ["5511999990001", "447700900110"] },
    quiet_hours: { start: "20:30", end: "06:00", tz: "America/Sao_Paulo" },
    types: ["text"],
    templates: [],
    link_hosts: ["example.com"],
    ends_at: "2026-12-01T10:00:00.000Z",
  };
  expect(through(changed)).toEqual({ ...RULES, ...changed });
});

test("no link and any link are different rules", () => {
  expect(through({ link_hosts: [] }).link_hosts).toEqual([]);
  expect(through({ link_hosts: null }).link_hosts).toBeNull();
});

test("numbers are read as people write them", () => {
  expect(readPhones("+55 (11) 99999-0001\n 447700900110, \n\n")).toEqual(["5511999990001", "447700900110"]);
  expect(readPhones("not a number")).toEqual(["not a number"]);
});
