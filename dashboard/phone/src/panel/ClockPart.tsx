import { useState } from "preact/hooks";
import { formatDay, formatTime, now } from "../shared/clock";
import { Field } from "../shared/Field";
import { clock } from "../shared/resources";
import type { Request } from "./curl";
import { Action, Card, Loaded, RequestForm, Tag } from "./ui";
import { numberOf } from "./values";

const STEPS = [
  ["+1 minute", 60],
  ["+1 hour", 3600],
  ["+24 hours", 86_400],
] as const;
const SPEEDS = [1, 10, 60, 3600];
const CHANGES = ["clock", "faults", "templates", "sessions", "phones"];

/** The clock of the sandbox: freeze it, let it run faster, move it. */
export function ClockPart() {
  return (
    <Loaded of={clock}>
      {(state) => <Controls frozen={state.frozen} speed={state.speed} waiting={state.waiting} />}
    </Loaded>
  );
}

function Controls({ frozen, speed, waiting }: { frozen: boolean; speed: number; waiting: number }) {
  const [seconds, setSeconds] = useState("");
  const advance = (by: number | undefined): Request => ({ method: "POST", path: "clock", body: { advance: by } });
  const build = () => {
    const by = numberOf("Seconds", seconds);
    if (by === undefined) throw new Error("Type how many seconds the clock moves.");
    return advance(by);
  };
  return (
    <div class="stack">
      <Card title="Now" tags={frozen ? <Tag look="warn">frozen</Tag> : <Tag look="good">running × {speed}</Tag>}>
        <p class="big-time">
          {formatDay(now.value)}, {formatTime(now.value)}
        </p>
        <p class="hint">
          Statuses, replies, windows and limits follow this clock.{" "}
          {waiting === 1 ? "1 timer waits" : `${waiting} timers wait`} for it.
        </p>
        <div class="row">
          <Action
            look="primary"
            label={frozen ? "Let it run" : "Freeze"}
            requests={[{ method: "POST", path: "clock", body: { frozen: !frozen } }]}
            changes={CHANGES}
          />
        </div>
      </Card>
      <Card title="Move forward">
        <p class="hint">Everything that becomes due on the way happens, in order. The clock cannot go back.</p>
        <div class="row">
          {STEPS.map(([label, by]) => (
            <Action key={label} label={label} requests={[advance(by)]} changes={CHANGES} />
          ))}
        </div>
        <RequestForm submit="Move" build={build} changes={CHANGES} onDone={() => setSeconds("")}>
          <Field label="Seconds" value={seconds} onChange={setSeconds} inputMode="decimal" />
        </RequestForm>
      </Card>
      <Card title="Speed">
        <div class="row">
          {SPEEDS.map((one) => (
            <Action
              key={one}
              label={one === 1 ? "Real time" : `× ${one}`}
              disabled={one === speed && !frozen}
              requests={[{ method: "POST", path: "clock", body: { frozen: false, speed: one } }]}
              changes={CHANGES}
            />
          ))}
        </div>
      </Card>
    </div>
  );
}
