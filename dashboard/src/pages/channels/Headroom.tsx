import { Box, Group, Progress, Text } from "@mantine/core";
import { shareColor, usage } from "./words";

type Props = { label: string; limit: number | null; used: number; hint?: string };

/** How much of a limit is used, as text and as a bar. */
export function Headroom({ label, limit, used, hint }: Props) {
  const { text, share } = usage({ limit, used });
  return (
    <Box miw={0}>
      <Group justify="space-between" gap="xs" wrap="nowrap" mb={4}>
        <Text size="xs" c="dimmed" truncate title={hint}>
          {label}
        </Text>
        <Text size="xs" fw={600} style={{ whiteSpace: "nowrap" }}>
          {text}
        </Text>
      </Group>
      <Progress value={share ?? 0} color={shareColor(share ?? 0)} size="sm" aria-label={`${label}: ${text}`} />
    </Box>
  );
}
