import { Group, List, Stack, Text, ThemeIcon } from "@mantine/core";
import { IconAlertTriangle, IconCheck, IconMinus, IconX } from "@tabler/icons-react";
import type { CredentialCheck } from "./queries";
import { checkLabel } from "./words";

/** The checks of a number's credentials: what was found, and what to do. */
export function CredentialChecks({ checks }: { checks: CredentialCheck[] }) {
  return (
    <List listStyleType="none" spacing="md" aria-label="Checks">
      {checks.map((check) => (
        <List.Item key={check.name}>
          <Group wrap="nowrap" align="flex-start" gap="sm">
            <Sign check={check} />
            <Stack gap={2} miw={0}>
              <Text fw={600} size="sm">
                {checkLabel(check.name)}
              </Text>
              <Text size="sm">{check.message}</Text>
              {check.advice && (
                <Text size="sm" c="dimmed">
                  {check.advice}
                </Text>
              )}
            </Stack>
          </Group>
        </List.Item>
      ))}
    </List>
  );
}

function Sign({ check }: { check: CredentialCheck }) {
  const [color, Picture, label] = signOf(check);
  return (
    <ThemeIcon size={26} radius="xl" variant="light" color={color} role="img" aria-label={label}>
      <Picture size={16} aria-hidden />
    </ThemeIcon>
  );
}

function signOf({ ok, required }: CredentialCheck) {
  if (ok) return ["teal", IconCheck, "Passed"] as const;
  if (ok === null) return ["gray", IconMinus, "Not known"] as const;
  return required ? (["red", IconX, "Failed"] as const) : (["orange", IconAlertTriangle, "Warning"] as const);
}
