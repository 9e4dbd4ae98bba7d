import { useState } from "preact/hooks";
import { path } from "../shared/api";
import { settings, templates, useResource } from "../shared/resources";
import type { Template } from "../shared/types";
import type { Request } from "./curl";
import { Action, Area, Card, Choice, Empty, Loaded, RequestForm, Tag } from "./ui";
import { compact } from "./values";

export const DECISIONS: Record<string, [decision: string, label: string][]> = {
  PENDING: [["approve", "Approve"]],
  APPROVED: [
    ["pause", "Pause"],
    ["disable", "Disable"],
  ],
  REJECTED: [["approve", "Approve"]],
  PAUSED: [
    ["resume", "Resume"],
    ["disable", "Disable"],
  ],
};
const REJECTABLE = ["PENDING", "APPROVED", "PAUSED"];
export const REASONS = [
  ["INVALID_FORMAT", "Invalid format"],
  ["ABUSIVE_CONTENT", "Abusive content"],
  ["INCORRECT_CATEGORY", "Incorrect category"],
  ["PROMOTIONAL", "Promotional"],
  ["SCAM", "Scam"],
  ["TAG_CONTENT_MISMATCH", "Category does not match the content"],
  ["NONE", "No reason"],
] as const;
const LOOKS: Record<string, "good" | "warn" | "bad" | ""> = {
  APPROVED: "good",
  PENDING: "warn",
  PAUSED: "warn",
  REJECTED: "bad",
  DISABLED: "bad",
};

/** Templates, and the decisions about them. */
export function TemplatesPart() {
  return (
    <div class="stack">
      <Review />
      <Loaded of={templates}>
        {(all) =>
          all.length ? (
            [...all].sort(waitingFirst).map((one) => <OneTemplate key={one.id} template={one} />)
          ) : (
            <Empty title="There is no template yet">
              Each business account has two templates from the start. <a href="#/panel/numbers">Register a number</a> to
              get an account.
            </Empty>
          )
        }
      </Loaded>
    </div>
  );
}

function waitingFirst(one: Template, other: Template): number {
  return Number(other.status === "PENDING") - Number(one.status === "PENDING");
}

function Review() {
  const manual = useResource(settings)?.management.review === "manual";
  return (
    <Card title="Review" tags={<Tag>{manual ? "by you" : "automatic"}</Tag>}>
      <p class="hint">
        {manual
          ? "New templates wait here until you approve or reject them."
          : "New templates are approved automatically after a few seconds."}
      </p>
      <Action
        label={manual ? "Review automatically" : "Let me review them"}
        requests={[{ method: "PATCH", path: "settings", body: { management: { review: manual ? "auto" : "manual" } } }]}
        changes={["settings"]}
      />
    </Card>
  );
}

function OneTemplate({ template }: { template: Template }) {
  const [rejecting, setRejecting] = useState(false);
  const decide = (body: Record<string, unknown>): Request => ({
    method: "POST",
    path: path`templates/${template.id}/review`,
    body,
  });
  const status = <Tag look={LOOKS[template.status]}>{template.status}</Tag>;
  return (
    <Card title={template.name} tags={status}>
      <p class="hint">
        {template.language} · {template.category} · account {template.waba_id}
        {template.status === "REJECTED" && ` · ${template.rejected_reason}`}
      </p>
      <Text components={template.components} />
      <div class="row">
        {(DECISIONS[template.status] ?? []).map(([decision, label]) => (
          <Action
            key={decision}
            label={label}
            look={decision === "approve" ? "primary" : decision === "disable" ? "danger" : ""}
            requests={[decide({ decision })]}
            changes={["templates"]}
          />
        ))}
        {REJECTABLE.includes(template.status) && !rejecting && (
          <button type="button" class="button danger" onClick={() => setRejecting(true)}>
            Reject…
          </button>
        )}
      </div>
      {rejecting && <Reject decide={decide} onEnd={() => setRejecting(false)} />}
    </Card>
  );
}

function Reject({ decide, onEnd }: { decide: (body: Record<string, unknown>) => Request; onEnd: () => void }) {
  const [reason, setReason] = useState("INVALID_FORMAT");
  const [recommendation, setRecommendation] = useState("");
  return (
    <RequestForm
      submit="Reject"
      changes={["templates"]}
      build={() => decide(compact({ decision: "reject", reason, recommendation: recommendation.trim() }))}
      onDone={onEnd}
      onCancel={onEnd}
    >
      <Choice label="Reason" value={reason} options={REASONS} onChange={setReason} />
      <Area label="Recommendation (optional)" value={recommendation} onChange={setRecommendation} rows={2} />
    </RequestForm>
  );
}

function Text({ components }: { components: Record<string, unknown>[] }) {
  const part = (type: string) => components.find((one) => one.type === type);
  const header = part("HEADER");
  const text = (one: Record<string, unknown> | undefined) => (typeof one?.text === "string" ? one.text : "");
  const buttons = part("BUTTONS")?.buttons;
  return (
    <div class="template-text">
      {header && <strong>{text(header) || `[${String(header.format).toLowerCase()}]`}</strong>}
      <p>{text(part("BODY"))}</p>
      {text(part("FOOTER")) && <small class="hint">{text(part("FOOTER"))}</small>}
      {Array.isArray(buttons) && (
        <small class="hint">{buttons.map((one) => `[${one.text ?? one.type}]`).join(" ")}</small>
      )}
    </div>
  );
}
