import { Center, Stack, Text, ThemeIcon, Title } from "@mantine/core";
import type { Icon } from "@tabler/icons-react";
import type { ReactNode } from "react";

type Props = { icon: Icon; title: string; children: ReactNode; action?: ReactNode };

/** Says why there is nothing, and what to do next. */
export function EmptyState({ icon: Picture, title, children, action }: Props) {
  return (
    <Center p="xl" mih={280} className="surface">
      <Stack align="center" gap="sm" maw={440} ta="center">
        <ThemeIcon size={56} radius="xl" variant="light">
          <Picture size={28} stroke={1.5} aria-hidden />
        </ThemeIcon>
        <Title order={2} size="h3">
          {title}
        </Title>
        <Text c="dimmed">{children}</Text>
        {action}
      </Stack>
    </Center>
  );
}
