import { CloseButton, TextInput, type TextInputProps } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { useState } from "react";

const TYPING_MS = 250;

type Props = Pick<TextInputProps, "flex" | "w"> & {
  label: string;
  placeholder: string;
  value: string | undefined;
  onChange: (words: string | undefined) => void;
};

/** A field for words to search for; `onChange` gets them when the typing pauses. */
export function SearchField({ label, placeholder, value, onChange, ...size }: Props) {
  const [words, setWords] = useState(value ?? "");
  const later = useDebouncedCallback((text: string) => onChange(text.trim() || undefined), TYPING_MS);
  const type = (text: string) => {
    setWords(text);
    later(text);
  };
  return (
    <TextInput
      aria-label={label}
      placeholder={placeholder}
      leftSection={<IconSearch size={16} aria-hidden />}
      rightSection={words && <CloseButton aria-label="Clear the search" onClick={() => type("")} />}
      value={words}
      onChange={(event) => type(event.currentTarget.value)}
      {...size}
    />
  );
}
