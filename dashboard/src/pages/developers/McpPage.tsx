import { Alert, Button, Group, Skeleton, Stack, Tabs, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconHandStop, IconPlayerPlay, IconPlus, IconRobot } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { perform } from "../../shared/mutations";
import { useSession } from "../../shared/session/queries";
import { inFull } from "../../shared/times";
import { ChannelPage } from "../../shared/ui/ChannelPage";
import { CodeBlock } from "../../shared/ui/CodeBlock";
import { ConfirmDialog } from "../../shared/ui/ConfirmDialog";
import { CopyField } from "../../shared/ui/CopyField";
import { EmptyState } from "../../shared/ui/EmptyState";
import { Loaded } from "../../shared/ui/Loaded";
import { showDone, showFailure } from "../../shared/ui/notices";
import { Section } from "../../shared/ui/Section";
import { SkeletonRows } from "../../shared/ui/SkeletonRows";
import { StatusBadge } from "../../shared/ui/StatusBadge";
import { useNow } from "../../shared/useNow";
import { CreateKeyDialog } from "./CreateKeyDialog";
import { DevelopersTabs } from "./DevelopersTabs";
import { mcpClients } from "./mcpClients";
import { useMcpState, usePolicies, useStopAssistants } from "./mcpQueries";
import { PolicyWarning, Sentences } from "./PolicyPage";
import { type ApiKey, useKeys, useNewKey } from "./queries";
import { KEY_PLACEHOLDER } from "./snippets";
import { isOver, keyLook } from "./words";

export function McpPage() {
  return (
    <ChannelPage>
      <Mcp />
    </ChannelPage>
  );
}

function Mcp() {
  const owner = useSession().user.role === "owner";
  const [creating, dialog] = useDisclosure();
  const create = owner && (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={dialog.open}>
      Create a key
    </Button>
  );
  return (
    <DevelopersTabs>
      <Stack gap="lg">
        <StopSwitch />
        <Assistants create={create} />
        <SetUp />
      </Stack>
      <CreateKeyDialog opened={creating} onClose={dialog.close} scopes={["mcp"]} />
    </DevelopersTabs>
  );
}

/** Stops all assistants of the account at once. */
function StopSwitch() {
  const query = useMcpState();
  const owner = useSession().user.role === "owner";
  const change = useStopAssistants();
  const [asking, ask] = useDisclosure();
  const stop = () =>
    perform(change, true, {
      onSuccess: () => {
        ask.close();
        showDone("All assistants are stopped.");
      },
    });
  const resume = () =>
    perform(change, false, { onSuccess: () => showDone("The assistants may work again."), onError: showFailure });
  return (
    <Loaded query={query} loading={<Skeleton height={80} radius={12} aria-label="Loading" />}>
      {({ stopped_at, stopped_by }) => (
        <>
          {stopped_at ? (
            <Alert
              color="red"
              variant="light"
              title="All assistants are stopped"
              icon={<IconHandStop size={20} aria-hidden />}
              role="status"
            >
              <Stack gap="sm" align="flex-start">
                <Text size="sm" style={{ overflowWrap: "anywhere" }}>
                  {stopped_by ?? "The operator"} stopped them on {inFull(stopped_at)}. Every call of every MCP key of
                  the account is refused.
                </Text>
                {owner && (
                  <Button
                    variant="default"
                    loading={change.isPending}
                    leftSection={<IconPlayerPlay size={16} aria-hidden />}
                    onClick={resume}
                  >
                    Let them work again
                  </Button>
                )}
              </Stack>
            </Alert>
          ) : (
            <Section
              title="MCP"
              text="AI assistants read and answer the conversations of this channel, within rules that you set for each key."
              actions={
                <Group gap="sm">
                  <Button renderRoot={(props) => <Link {...props} to="/developers/mcp/calls" />} variant="default">
                    Calls
                  </Button>
                  {owner && (
                    <Button color="red" leftSection={<IconHandStop size={16} aria-hidden />} onClick={ask.open}>
                      Stop all assistants
                    </Button>
                  )}
                </Group>
              }
            />
          )}
          <ConfirmDialog
            title="Stop all assistants"
            action="Stop all"
            opened={asking}
            busy={change.isPending}
            error={change.error}
            onConfirm={stop}
            onClose={ask.close}
          >
            Within a second, every call of every MCP key of the account is refused, in all channels. Drafts that wait
            stay, and people can still send them.
          </ConfirmDialog>
        </>
      )}
    </Loaded>
  );
}

/** The keys that assistants use, each with its rules in plain sentences. */
function Assistants({ create }: { create: ReactNode }) {
  const keys = useKeys();
  const now = useNow();
  return (
    <Loaded query={keys} loading={<SkeletonRows label="Loading the keys" rows={2} height={120} />}>
      {(all) => {
        const used = all.filter((key) => key.scopes.includes("mcp") && !isOver(key, now)).toReversed();
        return used.length ? (
          <>
            <KeyCards keys={used} now={now} />
            <Group justify="flex-end">{create}</Group>
          </>
        ) : (
          <EmptyState icon={IconRobot} title="No assistant yet" action={create}>
            {create
              ? "Create a key with the scope MCP. Its first rules let the assistant write drafts, which people send."
              : "An owner creates a key with the scope MCP."}
          </EmptyState>
        );
      }}
    </Loaded>
  );
}

function KeyCards({ keys, now }: { keys: ApiKey[]; now: number }) {
  const policies = usePolicies(keys.map(({ id }) => id));
  const owner = useSession().user.role === "owner";
  return keys.map((key, index) => {
    const policy = policies[index];
    return (
      <Section
        key={key.id}
        title={key.name}
        text={
          <>
            <code>{key.hint}…</code> <StatusBadge look={keyLook(key, now)} size="sm" />
          </>
        }
        actions={
          <Group gap="sm">
            <Button
              size="sm"
              variant="default"
              renderRoot={(props) => <Link {...props} to="/developers/mcp/calls" search={{ key: key.id }} />}
            >
              Calls
            </Button>
            <Button
              size="sm"
              variant="default"
              renderRoot={(props) => <Link {...props} to="/developers/mcp/keys/$key" params={{ key: key.id }} />}
            >
              {owner ? "Edit the rules" : "Rules"}
            </Button>
          </Group>
        }
      >
        {policy && (
          <Loaded query={policy} loading={<Skeleton height={100} aria-label="Loading the rules" />}>
            {(rules) => (
              <>
                <PolicyWarning policy={rules} />
                <Sentences policy={rules} />
              </>
            )}
          </Loaded>
        )}
      </Section>
    );
  });
}

function SetUp() {
  const { data: state } = useMcpState();
  const key = useNewKey();
  const address = state?.url ?? `${window.location.origin}/mcp`;
  const list = mcpClients({ origin: address.replace(/\/mcp$/, ""), key: key ?? KEY_PLACEHOLDER });
  return (
    <Section title="Connect a client" text="The address and a key are all that a client needs.">
      <CopyField label="Address" value={address} />
      <Text size="sm" c="dimmed">
        {key ? (
          "The configurations contain the key that you have just created."
        ) : (
          <>
            Put a key with the scope MCP in the place of <code>{KEY_PLACEHOLDER}</code>.
          </>
        )}
      </Text>
      <Tabs defaultValue={list[0]?.id} keepMounted={false} variant="pills">
        <Tabs.List mb="md">
          {list.map(({ id, label }) => (
            <Tabs.Tab key={id} value={id}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {list.map(({ id, where, code, note }) => (
          <Tabs.Panel key={id} value={id}>
            <CodeBlock label={where} text={code} />
            {note && (
              <Text size="sm" c="dimmed" mt="xs">
                {note}
              </Text>
            )}
          </Tabs.Panel>
        ))}
      </Tabs>
    </Section>
  );
}
