import { Alert, Anchor, Group, List, Skeleton, Stack, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { Link, useParams } from "@tanstack/react-router";
import { isSame, useFields } from "../../shared/fields";
import { perform } from "../../shared/mutations";
import { useSession } from "../../shared/session/queries";
import { ChannelPage } from "../../shared/ui/ChannelPage";
import { EmptyState } from "../../shared/ui/EmptyState";
import { Form } from "../../shared/ui/Form";
import { Loaded } from "../../shared/ui/Loaded";
import { showDone } from "../../shared/ui/notices";
import { Section } from "../../shared/ui/Section";
import { Time } from "../../shared/ui/Time";
import { Unsaved } from "../../shared/ui/Unsaved";
import { DevelopersTabs } from "./DevelopersTabs";
import { type McpPolicy, usePolicy, useSavePolicy } from "./mcpQueries";
import { ContentRules, LimitRules, ModeRules, RecipientRules } from "./PolicyRules";
import { POLICY_FIELDS, toRequest, toValues } from "./policyForm";
import { type ApiKey, useKeys } from "./queries";

export function PolicyPage() {
  return (
    <ChannelPage>
      <DevelopersTabs>
        <Policy />
      </DevelopersTabs>
    </ChannelPage>
  );
}

function Policy() {
  const { key } = useParams({ from: "/signed-in/developers/mcp/keys/$key" });
  const keys = useKeys();
  const policy = usePolicy(key);
  const loading = <Skeleton height={320} radius={12} aria-label="Loading the rules" />;
  return (
    <Stack gap="lg">
      <Anchor component={Link} to="/developers/mcp" size="sm" underline="always" w="fit-content">
        All assistants
      </Anchor>
      <Loaded query={keys} loading={loading}>
        {(all) => {
          const found = all.find(({ id }) => id === key);
          return found ? (
            <Loaded query={policy} loading={loading}>
              {(rules) => <Rules apiKey={found} policy={rules} />}
            </Loaded>
          ) : (
            <EmptyState icon={IconAlertTriangle} title="No such key">
              This channel has no key with this id.
            </EmptyState>
          );
        }}
      </Loaded>
    </Stack>
  );
}

function Rules({ apiKey, policy }: { apiKey: ApiKey; policy: McpPolicy }) {
  const owner = useSession().user.role === "owner";
  return (
    <>
      <Section
        title={`Rules of “${apiKey.name}”`}
        text="What the assistant with this key may do. They are in force within a second, on every node."
      >
        <PolicyWarning policy={policy} />
        <Sentences policy={policy} />
        {policy.updated_at && (
          <Text size="sm" c="dimmed" style={{ overflowWrap: "anywhere" }}>
            Saved by {policy.updated_by} <Time value={policy.updated_at} />
          </Text>
        )}
      </Section>
      {owner ? (
        <PolicyForm key={apiKey.id} id={apiKey.id} policy={policy} />
      ) : (
        <Text size="sm" c="dimmed">
          Only owners change the rules.
        </Text>
      )}
    </>
  );
}

export function PolicyWarning({ policy: { warning } }: { policy: McpPolicy }) {
  if (!warning) return null;
  return (
    <Alert color="orange" variant="light" icon={<IconAlertTriangle size={18} aria-hidden />}>
      {warning}
    </Alert>
  );
}

/** The rules in plain English, as the gateway words them. */
export function Sentences({ policy: { sentences } }: { policy: McpPolicy }) {
  return (
    <List size="sm" spacing={4} style={{ overflowWrap: "anywhere" }}>
      {sentences.map((sentence) => (
        <List.Item key={sentence}>{sentence}</List.Item>
      ))}
    </List>
  );
}

function PolicyForm({ id, policy }: { id: string; policy: McpPolicy }) {
  const save = useSavePolicy(id);
  // What another owner changes meanwhile is taken over: all rules are saved together.
  const fields = useFields(toValues(policy, Intl.DateTimeFormat().resolvedOptions().timeZone), save.error);
  const request = toRequest(fields.values);
  const submit = () => perform(save, request, { onSuccess: () => showDone("The rules are saved and in force.") });
  const isSaved = save.isSuccess && isSame(save.variables, request);
  return (
    <Form action="Save the rules" busy={save.isPending} error={save.error} fields={POLICY_FIELDS} onSubmit={submit}>
      <ModeRules fields={fields} error={save.error} />
      <RecipientRules fields={fields} error={save.error} />
      <LimitRules fields={fields} error={save.error} />
      <ContentRules fields={fields} error={save.error} />
      <Unsaved edited={fields.isEdited && !isSaved} />
      {save.error && (
        <Group justify="flex-end">
          <Text size="sm" c="red" role="alert">
            The rules are not saved. Look at the fields above.
          </Text>
        </Group>
      )}
    </Form>
  );
}
