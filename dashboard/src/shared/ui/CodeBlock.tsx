import { Box, Group, Text } from "@mantine/core";
import { CopyIcon } from "./CopyField";

/** JSON with indents; other text as it is. */
export function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Text of a request or an answer. It is always drawn as text, whatever it contains. */
export function CodeBlock({ label, text, empty = "Empty" }: { label: string; text: string; empty?: string }) {
  return (
    <Box>
      <Group justify="space-between" mb={4}>
        <Text size="sm" fw={600}>
          {label}
        </Text>
        {text && <CopyIcon label={label} value={text} />}
      </Group>
      {/* biome-ignore-start lint/a11y: a part that scrolls is reachable by keyboard, and a fieldset is for forms */}
      <pre className="code" tabIndex={0} role="group" aria-label={label}>
        {text ? pretty(text) : empty}
      </pre>
      {/* biome-ignore-end lint/a11y: as above */}
    </Box>
  );
}
