import { useState } from "preact/hooks";
import { path } from "../shared/api";
import { numbers } from "../shared/resources";
import type { BusinessNumber } from "../shared/types";
import { ChangeAndDelete, GrowingList } from "./GrowingList";
import { NumberForm } from "./NumberForm";
import { Action, Card, Choice, Tag } from "./ui";

const RATINGS = ["GREEN", "YELLOW", "RED", "UNKNOWN"].map((one) => [one, one] as const);
const STATUSES = ["CONNECTED", "FLAGGED", "RESTRICTED", "BANNED", "PENDING", "DISCONNECTED"].map(
  (one) => [one, one] as const,
);
const TIERS = [
  ["250", "250 people a day"],
  ["1000", "1,000 people a day"],
  ["10000", "10,000 people a day"],
  ["100000", "100,000 people a day"],
  ["0", "no limit"],
] as const;

/** The official numbers: registration, quality, tier and status. */
export function NumbersPart() {
  return (
    <GrowingList
      of={numbers}
      empty="There is no number yet"
      why="A business sends with the token of a registered number. Register one, or let your program do it."
      title="New number"
      add="Register a number"
      form={(end, cancel) => <NumberForm onEnd={end} cancel={cancel} />}
      row={(number) => <OneNumber key={number.phone_number_id} number={number} />}
    />
  );
}

function OneNumber({ number }: { number: BusinessNumber }) {
  const { tier, window } = number.effective.limits;
  const base = path`numbers/${number.phone_number_id}`;
  const tags = (
    <>
      <Tag look={number.status === "CONNECTED" ? "good" : "bad"}>{number.status}</Tag>{" "}
      <Tag look={({ GREEN: "good", YELLOW: "warn", RED: "bad" } as const)[number.quality_rating] ?? ""}>
        quality {number.quality_rating}
      </Tag>
    </>
  );
  return (
    <Card title={number.name} tags={tags}>
      <dl class="facts">
        <dt>Id</dt>
        <dd class="mono">{number.phone_number_id}</dd>
        <dt>Phone</dt>
        <dd class="mono">{number.phone}</dd>
        <dt>Account</dt>
        <dd class="mono">{number.waba_id}</dd>
        <dt>Callbacks</dt>
        <dd class="mono">{number.callback_url ?? "none: statuses and messages go nowhere"}</dd>
        <dt>24-hour window</dt>
        <dd>{window ? "kept" : "off"}</dd>
        <dt>Tier</dt>
        <dd>{tier === null ? "off" : tier === 0 ? "no limit" : `${tier} people a day`}</dd>
      </dl>
      <ChangeAndDelete
        name={number.name}
        path={base}
        changes={["numbers", "templates"]}
        form={(end) => <NumberForm number={number} onEnd={end} cancel />}
        before={
          <div class="fields">
            <Setter
              key={`quality ${number.quality_rating}`}
              label="Quality"
              what="rating"
              to={`${base}/quality`}
              value={number.quality_rating}
              options={RATINGS}
            />
            <Setter
              key={`tier ${tier}`}
              label="Tier"
              what="tier"
              to={`${base}/tier`}
              value={String(tier ?? 0)}
              options={TIERS}
              numeric
            />
            <Setter
              key={`status ${number.status}`}
              label="Status"
              what="status"
              to={`${base}/status`}
              value={number.status}
              options={STATUSES}
            />
          </div>
        }
      />
    </Card>
  );
}

interface SetterProps {
  label: string;
  what: string;
  to: string;
  value: string;
  options: readonly (readonly [string, string])[];
  numeric?: boolean;
}

/** A choice with a button that tells the network's decision. */
function Setter({ label, what, to, value, options, numeric }: SetterProps) {
  const [chosen, setChosen] = useState(value);
  const known = options.some(([one]) => one === value) ? options : [[value, value] as const, ...options];
  return (
    <div class="setter">
      <Choice label={label} value={chosen} options={known} onChange={setChosen} />
      <Action
        label={`Set ${label.toLowerCase()}`}
        requests={[{ method: "POST", path: to, body: { [what]: numeric ? Number(chosen) : chosen } }]}
        changes={["numbers"]}
      />
    </div>
  );
}
