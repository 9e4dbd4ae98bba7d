import { Group, Loader, Paper, Text } from "@mantine/core";
import { useLive } from "../shared/live/live";
import { useGatewayAnswers } from "../shared/session/queries";

/** Says that the gateway does not answer, or that the live connection is lost. The page stays as it is. */
export function GatewayBanner() {
  const answers = useGatewayAnswers();
  const { lostLong } = useLive();
  return (
    <div role="status">
      {(!answers || lostLong) && (
        <Paper pos="fixed" bottom={16} left="50%" shadow="lg" radius="xl" px="lg" py="sm" className="banner">
          <Group gap="sm" wrap="nowrap">
            <Loader size="xs" color="white" />
            <Text size="sm" fw={500}>
              {answers ? "Connection lost. Trying again…" : "The gateway does not answer. Trying again…"}
            </Text>
          </Group>
        </Paper>
      )}
    </div>
  );
}
