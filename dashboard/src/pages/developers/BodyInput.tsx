import { Textarea } from "@mantine/core";

type Props = { value: string; onChange: (value: string) => void };

/** The JSON body of a request. It is sent as it is, also if it is wrong: the API then says what is. */
export function BodyInput({ value, onChange }: Props) {
  return (
    <Textarea
      label="Body"
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      error={problemOf(value)}
      autosize
      minRows={3}
      maxRows={20}
      spellCheck={false}
      styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)", fontSize: 13 } }}
    />
  );
}

function problemOf(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch {
    return "This is not valid JSON.";
  }
}
