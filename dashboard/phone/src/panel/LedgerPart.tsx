import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { get, messageOf } from "../shared/api";
import { formatTime } from "../shared/clock";
import { Field } from "../shared/Field";
import { numbers, phones, useResource } from "../shared/resources";
import { onLedger } from "../shared/store";
import type { LedgerRow } from "../shared/types";
import { curlHere } from "./requests";
import { addRow, KINDS, type LedgerFilter, look, MOST, matches, personOf, summaryOf } from "./rows";
import { Choice, CurlLine, Empty, Problem, Tag } from "./ui";
import { phoneDigits } from "./values";

const rows = signal<LedgerRow[] | null>(null); // the latest first
const problem = signal("");
let late: LedgerRow[] | null = null; // rows that come while the others are read

/** Read the latest rows: at first, after the feed was lost, and after a reset, which begins a new ledger. */
async function load(): Promise<void> {
  late = [];
  try {
    const { last_seq: last } = await get<{ last_seq: number }>("ledger/summary");
    const { entries } = await get<{ entries: LedgerRow[] }>(
      `ledger?after=${Math.max(0, last - MOST)}&limit=${MOST * 2}`,
    );
    rows.value = [...entries, ...late].reduce(addRow, []);
    problem.value = "";
  } catch (error) {
    problem.value = messageOf(error);
  }
  late = null;
}

function add(row: LedgerRow): void {
  if (late) late.push(row);
  else rows.value = addRow(rows.value ?? [], row);
}

/** Every request with its answer, live. */
export function LedgerPart() {
  const [filter, setFilter] = useState<LedgerFilter>({ kind: "", number: "", person: "" });
  useEffect(() => {
    const end = onLedger(add, load);
    load();
    return end;
  }, []);
  const found = (rows.value ?? []).filter((row) => matches(row, { ...filter, person: phoneDigits(filter.person) }));
  const set = (name: keyof LedgerFilter) => (value: string) => setFilter({ ...filter, [name]: value });
  return (
    <div class="stack">
      <Filters filter={filter} set={set} />
      <Problem text={problem.value} />
      {rows.value?.length === 0 && (
        <Empty title="Nothing has happened yet">
          Send a message with your program, or write as a person on <a href="#/">a phone</a>. It appears here at once.
        </Empty>
      )}
      {rows.value !== null && rows.value.length > 0 && found.length === 0 && (
        <Empty title="Nothing matches">None of the last {rows.value.length} entries matches these filters.</Empty>
      )}
      <ol class="ledger">
        {found.map((row) => (
          <Row key={row.seq} row={row} />
        ))}
      </ol>
      <details class="preview">
        <summary>As a curl line</summary>
        <CurlLine curl={curlHere({ method: "GET", path: queryOf(filter) })} />
      </details>
    </div>
  );
}

function queryOf({ kind, number, person }: LedgerFilter): string {
  const query = new URLSearchParams();
  if (kind) query.set("kind", kind);
  if (number) query.set("phone_number_id", number);
  if (person) query.set("to", phoneDigits(person));
  return `ledger${query.size ? `?${query}` : ""}`;
}

function Filters({
  filter,
  set,
}: {
  filter: LedgerFilter;
  set: (name: keyof LedgerFilter) => (value: string) => void;
}) {
  const places: [string, string][] = [
    ["", "all"],
    ...(useResource(numbers) ?? []).map((one): [string, string] => [one.phone_number_id, one.name]),
    ...(useResource(phones) ?? []).map((one): [string, string] => [one.phone, `QR phone ${one.phone}`]),
  ];
  return (
    <div class="fields">
      <Choice label="Kind" value={filter.kind} options={KINDS} onChange={set("kind")} />
      <Choice label="Number" value={filter.number} options={places} onChange={set("number")} />
      <Field label="Person" value={filter.person} onChange={set("person")} inputMode="tel" placeholder="all" />
    </div>
  );
}

function Row({ row }: { row: LedgerRow }) {
  const [open, setOpen] = useState(false);
  return (
    <li>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <time class="mono">{formatTime(row.at)}</time> <Tag look={look(row)}>{row.kind}</Tag>{" "}
          <span class="mono">{personOf(row)}</span> <span class="summary-text">{summaryOf(row)}</span>
        </summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long line is scrolled by keyboard */}
        {open && <pre tabIndex={0}>{JSON.stringify(row, null, 2)}</pre>}
      </details>
    </li>
  );
}
