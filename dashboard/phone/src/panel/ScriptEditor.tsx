import { Field } from "../shared/Field";
import { ACTS, type Line, NEW_LINE } from "./script";
import { Choice } from "./ui";

/** The rows of a script: when it applies, and what the person then does. */
export function ScriptEditor({ lines, onChange }: { lines: Line[]; onChange: (lines: Line[]) => void }) {
  const change = (place: number, fields: Partial<Line>) =>
    onChange(lines.map((line, at) => (at === place ? { ...line, ...fields } : line)));
  return (
    <>
      {lines.length === 0 && <p class="hint">Without a script the person does not answer.</p>}
      <ol class="rows">
        {lines.map((line, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no name but their place
          <li key={place} class="script-line">
            {line.act !== "json" && (
              <Field
                label="When the text matches"
                value={line.pattern}
                onChange={(pattern) => change(place, { pattern })}
                placeholder="any text"
              />
            )}
            {line.act !== "json" && (
              <Field
                label="After seconds"
                value={line.delay}
                inputMode="decimal"
                onChange={(delay) => change(place, { delay })}
              />
            )}
            {line.act !== "json" && (
              <Field
                label="At most (times)"
                value={line.times}
                inputMode="numeric"
                placeholder="always"
                onChange={(times) => change(place, { times })}
              />
            )}
            <Choice
              label="The person"
              value={line.act}
              options={ACTS}
              onChange={(act) => change(place, { act: act as Line["act"] })}
            />
            <Field wide label={WHAT[line.act]} value={line.value} onChange={(value) => change(place, { value })} />
            <button
              type="button"
              class="button danger"
              aria-label={`Remove line ${place + 1}`}
              onClick={() => onChange(lines.filter((_, at) => at !== place))}
            >
              Remove
            </button>
          </li>
        ))}
      </ol>
      <div class="row">
        <button type="button" class="button" onClick={() => onChange([...lines, NEW_LINE])}>
          Add a line
        </button>
      </div>
    </>
  );
}

const WHAT: Record<Line["act"], string> = {
  text: "Text ({text} is what was received)",
  tap: "Button: place from 0, id or title",
  pick: "Row: place from 0, id or title",
  react: "Emoji",
  json: "Reply as JSON",
};
