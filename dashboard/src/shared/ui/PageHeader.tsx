import { Group, Stack, Text, Title } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import type { ReactNode } from "react";

type Props = { title: string; children?: ReactNode; actions?: ReactNode };

export const PAGE_TITLE = "page-title"; // gets the focus when the page changes

export function PageHeader({ title, children, actions }: Props) {
  useDocumentTitle(`${title} – Gatepost`);
  return (
    <Group justify="space-between" align="flex-start" gap="md" mb="lg">
      <Stack gap={4} maw={760} flex="1 1 280px">
        <Title order={1} size="h2" id={PAGE_TITLE} tabIndex={-1} style={{ overflowWrap: "anywhere" }}>
          {title}
        </Title>
        {children && <Text c="dimmed">{children}</Text>}
      </Stack>
      {actions && <Group gap="sm">{actions}</Group>}
    </Group>
  );
}
