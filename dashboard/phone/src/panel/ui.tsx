/** The parts that the panel's pages are made of. */

import type { ComponentChildren, TargetedClipboardEvent, TargetedSubmitEvent } from "preact";
import { useId, useState } from "preact/hooks";
import { messageOf } from "../shared/api";
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

/** Copies a text; the clipboard API exists only at https and localhost, so elsewhere a selection does it. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "visually-hidden";
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    return copied;
  }
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

interface FieldProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  hint?: string;
  inputMode?: "numeric" | "decimal" | "tel" | "url";
  list?: string[];
  placeholder?: string;
  wide?: boolean;
}

export function Field({ label, value, onChange, hint, inputMode, list, placeholder, wide }: FieldProps) {
  const id = useId();
  return (
    <div class={wide ? "field wide" : "field"}>
      <label for={id}>{label}</label>
      <input
        id={id}
        type="text"
        value={value}
        inputMode={inputMode}
        placeholder={placeholder}
        list={list ? `${id}-list` : undefined}
        aria-describedby={hint ? `${id}-hint` : undefined}
        autocomplete="off"
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      {list && (
        <datalist id={`${id}-list`}>
          {list.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
      {hint && (
        <small id={`${id}-hint`} class="hint">
          {hint}
        </small>
      )}
    </div>
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
