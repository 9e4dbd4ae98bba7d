import { CloseButton, TextInput, type TextInputProps } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";

const TYPING_MS = 250;

type Props = Pick<TextInputProps, "flex" | "w" | "id" | "maxLength"> & {
  label: string;
  placeholder: string;
  value: string | undefined;
  onChange: (words: string | undefined) => void;
};

/** A field for words to search for; `onChange` gets them when the typing pauses, and at once when they are cleared. */
export function SearchField({ label, placeholder, value = "", onChange, ...field }: Props) {
  const [words, setWords] = useState(value);
  const latest = useRef(value);
  const search = (text: string) => {
    later.cancel();
    latest.current = text.trim();
    onChange(latest.current || undefined);
  };
  const later = useDebouncedCallback(search, TYPING_MS);
  useEffect(() => {
    if (value === latest.current) return;
    latest.current = value; // changed elsewhere: a saved view, or back in the history
    later.cancel();
    setWords(value);
  }, [value, later]);
  return (
    <TextInput
      type="search"
      aria-label={label}
      placeholder={placeholder}
      leftSection={<IconSearch size={16} aria-hidden />}
      rightSection={
        words && (
          <CloseButton
            size="sm"
            aria-label="Clear the search"
            onClick={() => {
              setWords("");
              search("");
            }}
          />
        )
      }
      value={words}
      onChange={(event) => {
        setWords(event.currentTarget.value);
        later(event.currentTarget.value);
      }}
      {...field}
    />
  );
}
