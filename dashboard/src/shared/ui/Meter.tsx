import { Group, Progress, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";

type Props = {
  label: string;
  used: number;
  limit: number | null;
  show: (value: number) => string;
  children?: ReactNode;
};

const NEARLY = 0.8;

/** How much of a limit is used. Without a limit, only the number. */
export function Meter({ label, used, limit, show, children }: Props) {
  const share = limit ? used / limit : 0;
  const color = share >= 1 ? "red" : share >= NEARLY ? "orange" : "teal";
  return (
    <Stack gap={6}>
      <Group justify="space-between" gap="xs">
        <Text size="sm" fw={600}>
          {label}
        </Text>
        <Text size="sm">{limit === null ? `${show(used)}, no limit` : `${show(used)} of ${show(limit)}`}</Text>
      </Group>
      {limit !== null && (
        <Progress value={Math.min(100, share * 100)} color={color} aria-label={label} size="md" radius="xl" />
      )}
      {children && (
        <Text size="xs" c="dimmed">
          {children}
        </Text>
      )}
    </Stack>
  );
}
