import { ActionIcon, Group, Text, Tooltip } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";
import { useCopy } from "../useCopy";

/** A value that people copy, such as a secret. */
export function CopyField({ label, value }: { label: string; value: string }) {
  return (
    <Group className="code" justify="space-between" wrap="nowrap" gap="sm" role="group" aria-label={label}>
      <Text component="code" ff="monospace" size="sm" style={{ overflowWrap: "anywhere" }} data-testid="copy-value">
        {value}
      </Text>
      <CopyIcon label={label} value={value} />
    </Group>
  );
}

export function CopyIcon({ label, value }: { label: string; value: string }) {
  const { copied, copy } = useCopy(value);
  return (
    <Tooltip label={copied ? "Copied" : "Copy"}>
      <ActionIcon variant="subtle" color="gray" onClick={copy} aria-label={`Copy: ${label}`}>
        {copied ? <IconCheck size={18} aria-hidden /> : <IconCopy size={18} aria-hidden />}
      </ActionIcon>
    </Tooltip>
  );
}
