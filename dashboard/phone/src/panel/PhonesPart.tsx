import { useState } from "preact/hooks";
import { path } from "../shared/api";
import { Field } from "../shared/Field";
import { phones, sessions, useResource } from "../shared/resources";
import type { QrPhone, Session } from "../shared/types";
import type { Request } from "./curl";
import { PairForm, ScanForm } from "./ScanForm";
import { Action, Card, Empty, Loaded, RequestForm, Tag } from "./ui";
import { compact, numberOf, phoneDigits } from "./values";

const CHANGES = ["phones", "sessions"];

/** Phones linked by QR code, and the sessions of the programs that hold the links. */
export function PhonesPart() {
  const all = useResource(phones) ?? [];
  const known = all.map((one) => one.phone);
  const waiting = (useResource(sessions) ?? []).filter((one) => one.code);
  return (
    <div class="stack">
      <Waiting sessions={waiting} phone={all.find((one) => !one.sessions.length)?.phone} />
      <Card title="Scan a QR code">
        <p class="hint">Link a phone to a program that shows a QR code, such as the dashboard.</p>
        <ScanForm phones={known} />
      </Card>
      <details class="card">
        <summary>Type a pairing code</summary>
        <PairForm phones={known} />
      </details>
      <Loaded of={phones}>
        {(list) => (list.length ? list.map((one) => <OnePhone key={one.phone} phone={one} />) : <NoPhones />)}
      </Loaded>
      <details class="card">
        <summary>Add or rename a phone</summary>
        <PhoneForm />
      </details>
    </div>
  );
}

function NoPhones() {
  return (
    <Empty title="There is no QR phone yet">
      Every number has a phone: it appears here when it scans a code. Let your program show a code, then scan it above.
    </Empty>
  );
}

function Waiting({ sessions: waiting, phone }: { sessions: Session[]; phone: string | undefined }) {
  if (!waiting.length) return null;
  return (
    <Card title="Codes that wait for a scan" tags={<Tag look="warn">{waiting.length}</Tag>}>
      <ul class="rows">
        {waiting.map((one) => (
          <li key={one.session}>
            <div>
              <strong class="mono">{one.session}</strong>
              <p class="hint">
                {one.pairing_code ? `pairing code ${one.pairing_code}` : one.state.replaceAll("_", " ")}
              </p>
            </div>
            {phone && (
              <Action
                label={`Scan with ${phone}`}
                look="primary"
                requests={[{ method: "POST", path: path`phones/${phone}/scan`, body: { session: one.session } }]}
                changes={CHANGES}
              />
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}

function OnePhone({ phone }: { phone: QrPhone }) {
  const linked = (useResource(sessions) ?? []).filter((one) => one.phone === phone.phone);
  const ask = (what: string, body: Record<string, unknown> = {}): Request[] => [
    { method: "POST", path: path`phones/${phone.phone}/${what}`, body },
  ];
  const locked = phone.locked_until !== null;
  const tags = (
    <>
      {phone.banned && <Tag look="bad">banned</Tag>} {locked && <Tag look="warn">time-locked</Tag>}{" "}
      {!phone.sessions.length && <Tag>not linked</Tag>}
    </>
  );
  return (
    <Card title={phone.name} tags={tags}>
      <p class="hint mono">{phone.phone}</p>
      {linked.map((one) => (
        <p key={one.session}>
          <span class="mono">{one.session}</span>{" "}
          <Tag look={one.state === "connected" ? "good" : "warn"}>{one.state.replaceAll("_", " ")}</Tag>{" "}
          {one.waiting > 0 && <span class="hint">{one.waiting} events wait for an answer</span>}
        </p>
      ))}
      <div class="row">
        {phone.sessions.length > 0 && (
          <>
            <Action label="Lose the connection for 30 s" requests={ask("drop", { seconds: 30 })} changes={CHANGES} />
            <Action label="Lose it for good" requests={ask("drop", { reason: "network_gone" })} changes={CHANGES} />
            <Action label="Log out" look="danger" confirm="Log out all?" requests={ask("logout")} changes={CHANGES} />
          </>
        )}
        {locked ? (
          <Action label="Unlock" requests={ask("lock", { seconds: 0 })} changes={CHANGES} />
        ) : (
          <Action label="Time-lock for an hour" requests={ask("lock", { seconds: 3600 })} changes={CHANGES} />
        )}
        {phone.banned ? (
          <Action label="Lift the ban" requests={ask("ban", { seconds: 0 })} changes={CHANGES} />
        ) : (
          <Action label="Ban" look="danger" confirm="Ban it?" requests={ask("ban")} changes={CHANGES} />
        )}
      </div>
    </Card>
  );
}

function PhoneForm() {
  const [phone, setPhone] = useState("");
  const [name, setName] = useState("");
  const [scan, setScan] = useState("");
  const build = (): Request => ({
    method: "POST",
    path: "phones",
    body: compact({ phone: phoneDigits(phone), name: name.trim(), auto_scan: numberOf("Seconds", scan) }),
  });
  return (
    <RequestForm submit="Save the phone" build={build} changes={CHANGES}>
      <div class="fields">
        <Field label="Phone number" value={phone} onChange={setPhone} inputMode="tel" />
        <Field label="Name" value={name} onChange={setName} />
        <Field
          label="Scans automatically after (seconds)"
          value={scan}
          onChange={setScan}
          inputMode="decimal"
          hint="Empty: it waits for you"
        />
      </div>
    </RequestForm>
  );
}
