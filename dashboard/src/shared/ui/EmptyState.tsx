import { Center, Stack, Text, ThemeIcon, Title } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import type { Icon } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { PAGE_TITLE } from "./PageHeader";

type Props = { icon: Icon; title: string; children: ReactNode; action?: ReactNode; page?: boolean };

/** Says why there is nothing, and what to do next; in place of a `page`, with the heading of one. */
export function EmptyState({ icon: Picture, title, children, action, page = false }: Props) {
  useDocumentTitle(page ? `${title} – Gatepost` : ""); // an empty one changes nothing
  return (
    <Center p="xl" mih={280} className="surface">
      <Stack align="center" gap="sm" maw={440} ta="center">
        <ThemeIcon size={56} radius="xl" variant="light">
          <Picture size={28} stroke={1.5} aria-hidden />
        </ThemeIcon>
        <Title order={page ? 1 : 2} size="h3" {...(page && { id: PAGE_TITLE, tabIndex: -1 })}>
          {title}
        </Title>
        <Text c="dimmed">{children}</Text>
        {action}
      </Stack>
    </Center>
  );
}
