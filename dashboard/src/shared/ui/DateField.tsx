import { TextInput, type TextInputProps } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useEffect, useRef, useState } from "react";

const TYPING_MS = 700;

type Props = Pick<TextInputProps, "flex"> & {
  label: string;
  type: "date" | "datetime-local";
  value: string;
  onChange: (value: string) => void;
};

/**
 * A day or time to filter by. A browser clears what was typed if the input gets another value meanwhile, so `onChange` is
 * called when the typing pauses.
 */
export function DateField({ value, onChange, ...field }: Props) {
  const [typed, setTyped] = useState(value);
  const latest = useRef(value);
  const choose = (chosen: string) => {
    later.cancel();
    if (chosen === latest.current || chosen.startsWith("0")) return; // 2026 begins as the year 0002
    latest.current = chosen;
    onChange(chosen);
  };
  const later = useDebouncedCallback(choose, TYPING_MS);
  useEffect(() => {
    if (value === latest.current) return;
    latest.current = value; // changed elsewhere: the filters were cleared, or back in the history
    later.cancel();
    setTyped(value);
  }, [value, later]);
  return (
    <TextInput
      value={typed}
      onChange={(event) => {
        setTyped(event.currentTarget.value);
        later(event.currentTarget.value);
      }}
      onBlur={(event) => choose(event.currentTarget.value)}
      {...field}
    />
  );
}
