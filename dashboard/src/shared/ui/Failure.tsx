import { Button, Center, Stack, Text, ThemeIcon, Title } from "@mantine/core";
import { IconAlertTriangle, IconRefresh } from "@tabler/icons-react";
import { ApiProblem, inWords } from "../api/problem";

type Props = { error: unknown; onRetry: () => void; title?: string };

/** What went wrong, in words, and a button that tries again. */
export function Failure({ error, onRetry, title = "This did not work" }: Props) {
  const requestId = error instanceof ApiProblem ? error.requestId : null;
  return (
    <Center p="xl" mih={260} role="alert">
      <Stack align="center" gap="sm" maw={460} ta="center">
        <ThemeIcon size={48} radius="xl" variant="light" color="red">
          <IconAlertTriangle size={26} aria-hidden />
        </ThemeIcon>
        <Title order={2} size="h3">
          {title}
        </Title>
        <Text c="dimmed">{inWords(error)}</Text>
        {requestId && (
          <Text size="xs" c="dimmed" ff="monospace">
            {requestId}
          </Text>
        )}
        <Button variant="default" leftSection={<IconRefresh size={16} aria-hidden />} onClick={onRetry}>
          Try again
        </Button>
      </Stack>
    </Center>
  );
}
