import { PairForm, ScanForm } from "../../panel/ScanForm";
import { Action, Tag } from "../../panel/ui";
import { path } from "../../shared/api";
import { sessions, useResource } from "../../shared/resources";
import type { PhoneState } from "../phone";
import { Sheet } from "../ui/Sheet";

/** The programs that are linked to this phone, and how to link another: scan its code, or type it. */
export function LinkedSheet({ phone }: { phone: PhoneState }) {
  const { person } = phone;
  const linked = (useResource(sessions) ?? []).filter((one) => one.phone === person);
  return (
    <Sheet title="Linked devices" onClose={phone.close}>
      {linked.length ? (
        <ul class="rows">
          {linked.map((one) => (
            <li key={one.session}>
              <span>
                <span class="mono">{one.session}</span>{" "}
                <Tag look={one.state === "connected" ? "good" : "warn"}>{one.state.replaceAll("_", " ")}</Tag>
              </span>
            </li>
          ))}
          <li>
            <Action
              label="Log out"
              look="danger"
              confirm="Log out all devices?"
              requests={[{ method: "POST", path: path`phones/${person}/logout`, body: {} }]}
              changes={["phones", "sessions"]}
            />
          </li>
        </ul>
      ) : (
        <p class="hint">No program is linked to this phone. Scan the QR code that one shows, such as the dashboard.</p>
      )}
      <ScanForm own={person} onDone={() => phone.say("The device was linked.")} />
      <details>
        <summary>Type a pairing code instead</summary>
        <PairForm own={person} onDone={() => phone.say("The device was linked.")} />
      </details>
    </Sheet>
  );
}
