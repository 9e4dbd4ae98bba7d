import { Button, Center, Stack, Text, Title } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import { Link } from "@tanstack/react-router";

export function NotFound() {
  useDocumentTitle("Page not found – Gatepost");
  return (
    <Center component="main" mih="60vh" p="xl">
      <Stack align="center" gap="sm" ta="center">
        <Title order={1} size="h2">
          There is no such page
        </Title>
        <Text c="dimmed">The address may be mistyped, or the page was moved.</Text>
        <Button component={Link} to="/" variant="default">
          Go to the dashboard
        </Button>
      </Stack>
    </Center>
  );
}
