import { Group, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";

type Props = { title: string; text?: ReactNode; actions?: ReactNode; children?: ReactNode };

/** A part of a page on a surface of its own, with a title. */
export function Section({ title, text, actions, children }: Props) {
  return (
    <Stack component="section" className="surface" p={{ base: "md", sm: "lg" }} gap="md" aria-label={title}>
      <Group justify="space-between" align="flex-start" gap="md">
        <TitleAndText order={2} title={title} text={text} />
        {actions}
      </Group>
      {children}
    </Stack>
  );
}

type TitleProps = { order: 1 | 2; title: string; text?: ReactNode };

export function TitleAndText({ order, title, text }: TitleProps) {
  return (
    <Stack gap={4}>
      <Title order={order} size={order === 1 ? "h3" : "h4"} style={{ overflowWrap: "anywhere" }}>
        {title}
      </Title>
      {text && (
        <Text c="dimmed" size="sm">
          {text}
        </Text>
      )}
    </Stack>
  );
}
