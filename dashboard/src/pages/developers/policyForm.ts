import { fromLocalInput, toLocalInput } from "../../shared/times";
import type { McpPolicy, PolicyRequest } from "./mcpQueries";

/** The rules of a key as the inputs show them. */
export type PolicyValues = {
  mode: McpPolicy["mode"];
  dry_run: boolean;
  anyone: boolean;
  wrote: boolean;
  days: number | string;
  labels: string[];
  phones: string; // one per line
  no_crossing: boolean;
  sends_per_hour: number | string;
  sends_per_conversation: number | string;
  unanswered: number | string;
  quiet: boolean;
  start: string;
  end: string;
  tz: string | null;
  all_types: boolean;
  types: string[];
  all_templates: boolean;
  templates: string[];
  links: string;
  hosts: string[];
  files: boolean;
  ends_at: string;
};

export const TYPES = ["text", "template", "image", "video", "audio", "document"];
const DAYS = 30;
const QUIET = { start: "22:00", end: "07:00" };

export function toValues(policy: McpPolicy, zone: string): PolicyValues {
  const { recipients, quiet_hours: quiet } = policy;
  return {
    mode: policy.mode,
    dry_run: policy.dry_run,
    anyone: recipients.anyone,
    wrote: recipients.wrote_within_days !== null,
    days: recipients.wrote_within_days ?? DAYS,
    labels: recipients.labels,
    phones: recipients.phones.join("\n"),
    no_crossing: policy.no_crossing,
    sends_per_hour: policy.sends_per_hour,
    sends_per_conversation: policy.sends_per_conversation,
    unanswered: policy.unanswered,
    quiet: quiet !== null,
    start: quiet?.start ?? QUIET.start,
    end: quiet?.end ?? QUIET.end,
    tz: quiet?.tz ?? zone,
    all_types: policy.types === null,
    types: policy.types ?? TYPES,
    all_templates: policy.templates === null,
    templates: policy.templates ?? [],
    links: policy.link_hosts === null ? "any" : policy.link_hosts.length ? "some" : "none",
    hosts: policy.link_hosts ?? [],
    files: policy.files,
    ends_at: policy.ends_at ? toLocalInput(new Date(policy.ends_at)) : "",
  };
}

/** All rules are sent, so that one that is switched off here is off in the gateway too. */
export function toRequest(values: PolicyValues): PolicyRequest {
  return {
    mode: values.mode,
    dry_run: values.dry_run,
    recipients: {
      anyone: values.anyone,
      wrote_within_days: values.wrote ? Number(values.days) : null,
      labels: values.labels,
      phones: readPhones(values.phones),
    },
    no_crossing: values.no_crossing,
    sends_per_hour: Number(values.sends_per_hour),
    sends_per_conversation: Number(values.sends_per_conversation),
    unanswered: Number(values.unanswered),
    quiet_hours: values.quiet ? { start: values.start, end: values.end, tz: values.tz ?? "" } : null,
    types: values.all_types ? null : values.types,
    templates: values.all_templates ? null : values.templates,
    link_hosts: values.links === "any" ? null : values.links === "none" ? [] : values.hosts,
    files: values.files,
    ends_at: fromLocalInput(values.ends_at) ?? null,
  };
}

/** Numbers as people write them, one per line or with commas between: "+55 (11) 99999-8888". */
export function readPhones(text: string): string[] {
  const parts = text.split(/[\n,;]/).map((one) => one.trim());
  return parts.filter(Boolean).map((one) => (/^\+?[\d\s().-]+$/.test(one) ? one.replace(/\D/g, "") : one));
}

/** The fields of the API whose inputs say what is wrong. */
export const POLICY_FIELDS = [
  "mode",
  "dry_run",
  "recipients",
  "no_crossing",
  "sends_per_hour",
  "sends_per_conversation",
  "unanswered",
  "quiet_hours",
  "types",
  "templates",
  "link_hosts",
  "files",
  "ends_at",
];
