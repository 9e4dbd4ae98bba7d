import { Box, Button, Divider, Group, Paper, SimpleGrid, Stack, Switch, Text, Title } from "@mantine/core";
import { IconListDetails, IconSend } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { perform } from "../../shared/mutations";
import { useMayManage } from "../../shared/session/queries";
import { showFailure } from "../../shared/ui/notices";
import { StatusBadge } from "../../shared/ui/StatusBadge";
import { EndpointHealth } from "./EndpointHealth";
import { type EndpointDialog, EndpointMenu } from "./EndpointMenu";
import { HealthBars } from "./HealthBars";
import { useChangeEndpoint, type Webhook } from "./queries";
import { TestDialog } from "./TestDialog";
import { EVENT_TYPES, endpointLook } from "./words";

/** One endpoint: where it is, how it is doing, and which events it gets. */
export function EndpointCard({ endpoint }: { endpoint: Webhook }) {
  const [dialog, setDialog] = useState<EndpointDialog | null>(null);
  const mayManage = useMayManage();
  return (
    <Paper component="section" className="surface" aria-label={`Endpoint ${endpoint.url}`}>
      <Stack gap="md" p={{ base: "md", sm: "lg" }}>
        <Group justify="space-between" align="flex-start" wrap="nowrap" gap="sm">
          <Box miw={0}>
            <Group gap="sm" wrap="wrap">
              <Title order={2} size="md" ff="monospace" fw={600} style={{ overflowWrap: "anywhere" }}>
                {endpoint.url}
              </Title>
              <StatusBadge look={endpointLook(endpoint)} />
            </Group>
            <EndpointHealth endpoint={endpoint} />
          </Box>
          {mayManage && <EndpointMenu endpoint={endpoint} dialog={dialog} onDialog={setDialog} />}
        </Group>
        <HealthBars endpoint={endpoint.id} />
        <EventSwitches endpoint={endpoint} disabled={!mayManage} />
        <Divider color="var(--line)" />
        <Group gap="sm">
          {mayManage && (
            <Button
              variant="default"
              size="xs"
              leftSection={<IconSend size={14} aria-hidden />}
              onClick={() => setDialog("test")}
            >
              Send a test event
            </Button>
          )}
          <Button
            renderRoot={(props) => <Link to="/webhooks/log" search={{ endpoint: endpoint.id }} {...props} />}
            variant="default"
            size="xs"
            leftSection={<IconListDetails size={14} aria-hidden />}
          >
            Deliveries
          </Button>
        </Group>
      </Stack>
      <TestDialog endpoint={endpoint} opened={dialog === "test"} onClose={() => setDialog(null)} />
    </Paper>
  );
}

function EventSwitches({ endpoint, disabled }: { endpoint: Webhook; disabled: boolean }) {
  return (
    <Box component="fieldset" m={0} p={0} bd={0} aria-label="Events that are sent to this endpoint">
      <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} spacing="md" verticalSpacing="md">
        {EVENT_TYPES.map((event) => (
          <EventSwitch key={event.type} endpoint={endpoint} event={event} disabled={disabled} />
        ))}
      </SimpleGrid>
      {disabled && (
        <Text size="xs" c="dimmed" mt="xs">
          Only owners change endpoints.
        </Text>
      )}
    </Box>
  );
}

type SwitchProps = { endpoint: Webhook; event: (typeof EVENT_TYPES)[number]; disabled: boolean };

/** One switch. It shows what was chosen until the gateway has answered. */
function EventSwitch({ endpoint, event: { type, label, text }, disabled }: SwitchProps) {
  const change = useChangeEndpoint(endpoint.id);
  const on = endpoint.events[type] ?? false;
  const [chosen, setChosen] = useState<boolean | null>(null);
  if (chosen === on) setChosen(null);
  const turn = (checked: boolean) => {
    setChosen(checked);
    perform(
      change,
      { events: { [type]: checked } },
      {
        onError: (error) => {
          setChosen(null);
          showFailure(error);
        },
      },
    );
  };
  return (
    <Switch
      label={label}
      description={text}
      checked={chosen ?? on}
      disabled={disabled}
      onChange={(event) => turn(event.currentTarget.checked)}
    />
  );
}
