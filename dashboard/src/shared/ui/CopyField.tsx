import { ActionIcon, Group, Text, Tooltip } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";
import { useCopy } from "../useCopy";

type Props = { label: string; value: string; first?: boolean };

/** A value that people copy, such as a secret. `first`: copying it has the focus in a dialog. */
export function CopyField({ label, value, first }: Props) {
  return (
    <Group className="code" justify="space-between" wrap="nowrap" gap="sm" role="group" aria-label={label}>
      <Text component="code" ff="monospace" size="sm" style={{ overflowWrap: "anywhere" }} data-testid="copy-value">
        {value}
      </Text>
      <CopyIcon label={label} value={value} first={first} />
    </Group>
  );
}

export function CopyIcon({ label, value, first }: Props) {
  const { copied, copy } = useCopy(value);
  return (
    <Tooltip label={copied ? "Copied" : "Copy"}>
      <ActionIcon variant="subtle" color="gray" onClick={copy} aria-label={`Copy: ${label}`} data-autofocus={first}>
        {copied ? <IconCheck size={18} aria-hidden /> : <IconCopy size={18} aria-hidden />}
      </ActionIcon>
    </Tooltip>
  );
}
