import { Group, Text } from "@mantine/core";

export function Logo({ size = 28 }: { size?: number }) {
  return (
    <Group gap={10} wrap="nowrap">
      <img src="/favicon.svg" width={size} height={size} alt="" />
      <Text fw={700} size="lg" lh={1}>
        Gatepost
      </Text>
    </Group>
  );
}
