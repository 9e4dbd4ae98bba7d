/** The parts that the panel's pages are made of. */

import type { ComponentChildren, TargetedClipboardEvent, TargetedSubmitEvent } from "preact";
import { useId, useState } from "preact/hooks";
import { messageOf } from "../shared/api";
import { copyText } from "../shared/copy";
import type { Resource } from "../shared/resources";
import { useResource } from "../shared/resources";
import type { Request } from "./curl";
import { curlHere, perform } from "./requests";

export function Card({
  title,
  tags,
  children,
}: {
  title: string;
  tags?: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <section class="card">
      <h2>
        {title} {tags}
      </h2>
      {children}
    </section>
  );
}

export function Tag({ look = "", children }: { look?: "" | "good" | "warn" | "bad"; children: ComponentChildren }) {
  return <span class={`tag ${look}`}>{children}</span>;
}

export function Problem({ text }: { text: string }) {
  return <div role="alert">{text && <p class="problem">{text}</p>}</div>;
}

/** Why there is nothing, and what to do next. */
export function Empty({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div class="nothing">
      <h2>{title}</h2>
      <p>{children}</p>
    </div>
  );
}

/** Shows a list when it was read; before that, that it is being read, or why it could not be. */
export function Loaded<T>({ of, children }: { of: Resource<T>; children: (value: T) => ComponentChildren }) {
  const value = useResource(of);
  if (value !== null) return <>{children(value)}</>;
  if (!of.problem.value) return <p class="hint">Loading…</p>;
  return (
    <div class="stack">
      <Problem text={of.problem.value} />
      <button type="button" class="button" onClick={() => of.load()}>
        Try again
      </button>
    </div>
  );
}

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    setCopied(await copyText(text));
    setTimeout(() => setCopied(false), 2000);
  };
  return (
    <button type="button" class="button small" onClick={copy}>
      {copied ? "Copied" : label}
    </button>
  );
}

export function CurlLine({ curl }: { curl: string }) {
  return (
    <div class="curl-line">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long line is scrolled by keyboard */}
      <pre tabIndex={0}>{curl}</pre>
      <CopyButton text={curl} label="Copy curl" />
    </div>
  );
}

interface ActionProps {
  label: string;
  requests: Request[];
  changes: readonly string[];
  look?: "" | "primary" | "danger";
  confirm?: string; // asked before it is done
  disabled?: boolean;
  onDone?: () => void;
}

/** A button that sends requests. Its tooltip is the curl line; an error is shown below it. */
export function Action({ label, requests, changes, look = "", confirm, disabled, onDone }: ActionProps) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const [asking, setAsking] = useState(false);
  const act = async () => {
    setBusy(true);
    setAsking(false);
    setProblem("");
    try {
      for (const request of requests) await perform(request, changes);
      onDone?.();
    } catch (error) {
      setProblem(messageOf(error));
    }
    setBusy(false);
  };
  return (
    <span class="action">
      <button
        type="button"
        class={`button ${look}`}
        disabled={busy || disabled}
        title={requests.map(curlHere).join("\n")}
        onClick={() => (confirm && !asking ? setAsking(true) : act())}
      >
        {asking ? confirm : label}
      </button>
      {asking && (
        <button type="button" class="button" onClick={() => setAsking(false)}>
          Cancel
        </button>
      )}
      {problem && <Problem text={problem} />}
    </span>
  );
}

interface FormProps<T> {
  submit: string;
  build: () => Request; // throws an Error with a text for the person if what was typed cannot be sent
  changes: readonly string[];
  children: ComponentChildren;
  onDone?: (answer: T) => void;
  onCancel?: () => void;
}

/** A form that sends one request: the curl line of what was typed is shown below, an error at the form. */
export function RequestForm<T = unknown>({ submit, build, changes, children, onDone, onCancel }: FormProps<T>) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const send = async (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    setBusy(true);
    setProblem("");
    try {
      const answer = await perform<T>(build(), changes); // not inside of onDone?.(…), which would skip it
      onDone?.(answer);
    } catch (error) {
      setProblem(messageOf(error));
    }
    setBusy(false);
  };
  return (
    <form class="stack" onSubmit={send} noValidate>
      {children}
      <Problem text={problem} />
      <div class="row">
        <button type="submit" class="button primary" disabled={busy}>
          {submit}
        </button>
        {onCancel && (
          <button type="button" class="button" onClick={onCancel}>
            Cancel
          </button>
        )}
      </div>
      <Preview build={build} />
    </form>
  );
}

function Preview({ build }: { build: () => Request }) {
  let curl: string;
  try {
    curl = curlHere(build());
  } catch (error) {
    return <p class="hint">{messageOf(error)}</p>;
  }
  return (
    <details class="preview">
      <summary>As a curl line</summary>
      <CurlLine curl={curl} />
    </details>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  options: readonly (readonly [value: string, label: string])[];
  onChange: (value: string) => void;
  hint?: string;
}

export function Choice({ label, value, options, onChange, hint }: ChoiceProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
      {hint && (
        <small id={`${id}-hint`} class="hint">
          {hint}
        </small>
      )}
    </div>
  );
}

interface AreaProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  onPaste?: (event: TargetedClipboardEvent<HTMLTextAreaElement>) => void;
  hint?: string;
  rows?: number;
}

export function Area({ label, value, onChange, onPaste, hint, rows = 4 }: AreaProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        rows={rows}
        value={value}
        spellcheck={false}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onPaste={onPaste}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      {hint && (
        <small id={`${id}-hint`} class="hint">
          {hint}
        </small>
      )}
    </div>
  );
}

export function Check({
  label,
  value,
  onChange,
}: {
  label: string;
  value: boolean;
  onChange: (value: boolean) => void;
}) {
  return (
    <label class="check">
      <input type="checkbox" checked={value} onChange={(event) => onChange(event.currentTarget.checked)} />
      {label}
    </label>
  );
}
