import { Anchor, Badge, Group, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { number } from "../../shared/numbers";
import classes from "./FailureTable.module.css";
import type { FailureCount } from "./queries";
import { failureAdvice, failureTitle } from "./words";

/** Why messages failed, and what to do about it. */
export function FailureTable({ failures }: { failures: FailureCount[] }) {
  if (failures.length === 0) return <Text c="dimmed">No message failed on these days.</Text>;
  return (
    <Stack component="ul" gap={0} className={classes.list}>
      {failures.map((failure) => (
        <li key={failure.code} className={classes.item}>
          <Group justify="space-between" wrap="nowrap" gap="md" align="flex-start">
            <Stack gap={2} miw={0}>
              <Group gap="xs">
                <Text size="sm" fw={600}>
                  {failureTitle(failure)}
                </Text>
                <Badge variant="default" size="sm">
                  {failure.code}
                </Badge>
              </Group>
              <Text size="sm" c="dimmed">
                {failureAdvice(failure)}
              </Text>
            </Stack>
            <Stack gap={2} align="flex-end" className={classes.count}>
              <Text size="sm" fw={600}>
                {number(failure.count)} {failure.count === 1 ? "message" : "messages"}
              </Text>
              <Anchor
                renderRoot={(props) => (
                  <Link
                    to="/inbox"
                    search={{ channel: failure.last_channel, trace: failure.last_message }}
                    {...props}
                  />
                )}
                size="sm"
                aria-label={`Show the last message with the error ${failure.code}`}
              >
                Show the last
              </Anchor>
            </Stack>
          </Group>
        </li>
      ))}
    </Stack>
  );
}
