import { useId } from "preact/hooks";

interface Props {
  label: string;
  value: string;
  onValue: (value: string) => void;
  onEnter?: () => void;
  hint?: string;
  inputMode?: "text" | "tel" | "decimal";
  autofocus?: boolean;
}

/** A labelled input. */
export function Field({ label, value, onValue, onEnter, hint, inputMode = "text", autofocus }: Props) {
  const id = useId();
  return (
    <div class="chat-field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="text"
        value={value}
        inputMode={inputMode}
        autocomplete="off"
        data-autofocus={autofocus ? "" : undefined}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onInput={(event) => onValue(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !onEnter) return;
          event.preventDefault();
          onEnter();
        }}
      />
      {hint ? (
        <span class="field-hint" id={`${id}-hint`}>
          {hint}
        </span>
      ) : null}
    </div>
  );
}
