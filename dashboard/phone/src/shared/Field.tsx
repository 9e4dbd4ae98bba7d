import { useId } from "preact/hooks";
import "./forms.css";

interface Props {
  label: string;
  value: string;
  onChange: (value: string) => void;
  onEnter?: () => void;
  hint?: string | undefined;
  inputMode?: "text" | "numeric" | "decimal" | "tel" | "url";
  list?: string[];
  placeholder?: string;
  wide?: boolean;
  autofocus?: boolean;
}

/** A labelled input of one line. */
export function Field({ label, value, onChange, onEnter, hint, list, wide, autofocus, ...input }: Props) {
  const id = useId();
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.isComposing || !onEnter) return;
    event.preventDefault();
    onEnter();
  };
  return (
    <div class={wide ? "field wide" : "field"}>
      <label for={id}>{label}</label>
      <input
        id={id}
        type="text"
        value={value}
        list={list ? `${id}-list` : undefined}
        aria-describedby={hint ? `${id}-hint` : undefined}
        autocomplete="off"
        data-autofocus={autofocus ? "" : undefined}
        onInput={(event) => onChange(event.currentTarget.value)}
        onKeyDown={onKeyDown}
        {...input}
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
