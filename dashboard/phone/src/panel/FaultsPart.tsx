import { useEffect, useState } from "preact/hooks";
import { path } from "../shared/api";
import { now } from "../shared/clock";
import { faults, numbers, phones, useResource } from "../shared/resources";
import type { Rule } from "../shared/types";
import { DURATIONS, describeRule, PRESETS, requestsOf } from "./presets";
import { RuleForm } from "./RuleForm";
import { Action, Card, Choice, Empty, Loaded, Tag } from "./ui";

/** Faults: what is switched on, what can be with one click, and a form for any rule. */
export function FaultsPart() {
  const [lasts, setLasts] = useState("60");
  const [number, setNumber] = useState("");
  const official = useResource(numbers) ?? [];
  const linked = useResource(phones) ?? [];
  const places = [
    ["", "all numbers"],
    ...official.map((one) => [one.phone_number_id, `${one.name} · ${one.phone_number_id}`]),
    ...linked.map((one) => [one.phone, `QR phone ${one.phone}`]),
  ] as [string, string][];
  const duration = DURATIONS.find(([seconds]) => seconds === lasts)?.[1] ?? "";
  return (
    <div class="stack">
      <Loaded of={faults}>{(rules) => <Rules rules={rules} />}</Loaded>
      <Card title="Switch on">
        <div class="fields">
          <Choice label="How long" value={lasts} options={DURATIONS} onChange={setLasts} />
          <Choice label="Where" value={number} options={places} onChange={setNumber} />
        </div>
        <ul class="presets">
          {PRESETS.map((preset) => (
            <li key={preset.title}>
              <Action
                label={`${preset.title} ${duration}`}
                requests={requestsOf(preset, lasts, number)}
                changes={["faults"]}
              />
              <p class="hint">{preset.explanation}</p>
            </li>
          ))}
        </ul>
      </Card>
      <details class="card">
        <summary>Any other rule</summary>
        <RuleForm places={places} />
      </details>
    </div>
  );
}

function Rules({ rules }: { rules: Rule[] }) {
  const ends = Math.min(...rules.map((rule) => Number(rule.ends_at ?? Number.POSITIVE_INFINITY)));
  const over = ends <= now.value;
  useEffect(() => {
    if (over) faults.load();
  }, [over]);
  if (!rules.length) {
    return <Empty title="No fault is active">The network works as it should. Switch a fault on below.</Empty>;
  }
  return (
    <Card title="Active" tags={<Tag look="warn">{rules.length}</Tag>}>
      <ul class="rows">
        {rules.map((rule) => (
          <li key={rule.id}>
            <div>
              <strong>{rule.fault}</strong> <span class="hint">{describeRule(rule)}</span>
              <p class="hint">
                matched {rule.seen}, applied {rule.struck}
                {rule.held > 0 && `, holds ${rule.held}`}
                {typeof rule.ends_at === "number" &&
                  ` · ends in ${remaining(Math.min(rule.ends_at - now.value, Number(rule.lasts)))}`}
              </p>
            </div>
            <Action
              label={`Remove ${rule.id}`}
              requests={[{ method: "DELETE", path: path`faults/${rule.id}` }]}
              changes={["faults"]}
            />
          </li>
        ))}
      </ul>
      <Action label="Remove all" requests={[{ method: "DELETE", path: "faults" }]} changes={["faults"]} />
    </Card>
  );
}

function remaining(seconds: number): string {
  const whole = Math.max(0, Math.ceil(seconds));
  return whole < 120 ? `${whole} s` : `${Math.ceil(whole / 60)} min`;
}
