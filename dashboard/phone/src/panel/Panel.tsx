import "./panel.css";
import type { FunctionComponent } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { ClockPart } from "./ClockPart";
import { Dock } from "./Dock";
import { FaultsPart } from "./FaultsPart";
import { LedgerPart } from "./LedgerPart";
import { NumbersPart } from "./NumbersPart";
import { PeoplePart } from "./PeoplePart";
import { PhonesPart } from "./PhonesPart";
import { SettingsPart } from "./SettingsPart";
import { TemplatesPart } from "./TemplatesPart";

const PARTS: Record<string, [title: string, part: FunctionComponent]> = {
  faults: ["Faults", FaultsPart],
  clock: ["Clock", ClockPart],
  people: ["People", PeoplePart],
  numbers: ["Numbers", NumbersPart],
  phones: ["QR phones", PhonesPart],
  templates: ["Templates", TemplatesPart],
  ledger: ["Ledger", LedgerPart],
  settings: ["Settings", SettingsPart],
};

/** The control panel: what the network and its people do. */
export function Panel({ part }: { part: string }) {
  const name = part in PARTS ? part : part ? "" : "faults";
  const [title, Part] = PARTS[name] ?? ["This part does not exist", Unknown];
  const nav = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: on a small screen the names are in one line that scrolls
  useEffect(() => {
    nav.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [name]);
  return (
    <div class="panel">
      <nav class="panel-nav" aria-label="Panel" ref={nav}>
        <ul>
          {Object.entries(PARTS).map(([key, [label]]) => (
            <li key={key}>
              <a href={`#/panel/${key}`} aria-current={key === name ? "page" : undefined}>
                {label}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <div class="panel-part">
        <h1>{title}</h1>
        <Part />
      </div>
      <Dock />
    </div>
  );
}

function Unknown() {
  return <p>Choose one of the parts above.</p>;
}
