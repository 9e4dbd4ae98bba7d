import { Anchor, Button, Group, SimpleGrid, Stack, Switch, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconBook, IconDownload, IconKey, IconPlus } from "@tabler/icons-react";
import { useState } from "react";
import { useChannelScope } from "../../shared/channels";
import { useSession } from "../../shared/session/queries";
import { ChannelPage } from "../../shared/ui/ChannelPage";
import { CopyField } from "../../shared/ui/CopyField";
import { EmptyState } from "../../shared/ui/EmptyState";
import { Loaded } from "../../shared/ui/Loaded";
import { Section } from "../../shared/ui/Section";
import { SkeletonRows } from "../../shared/ui/SkeletonRows";
import { useNow } from "../../shared/useNow";
import { CreateKeyDialog } from "./CreateKeyDialog";
import { DevelopersTabs } from "./DevelopersTabs";
import { KeyTable } from "./KeyTable";
import { type ApiKey, useKeys } from "./queries";
import { isOver } from "./words";

export function KeysPage() {
  return (
    <ChannelPage>
      <Keys />
    </ChannelPage>
  );
}

function Keys() {
  const keys = useKeys();
  const owner = useSession().user.role === "owner";
  const [creating, dialog] = useDisclosure();
  const create = owner && (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={dialog.open}>
      Create a key
    </Button>
  );
  return (
    <DevelopersTabs actions={keys.data?.length ? create : null}>
      <Stack gap="lg">
        <Authentication />
        <Loaded query={keys} loading={<SkeletonRows label="Loading keys" rows={3} />}>
          {(list) =>
            list.length ? (
              <KeyList keys={list} owner={owner} />
            ) : (
              <EmptyState icon={IconKey} title="No key yet" action={create}>
                {owner
                  ? "A program proves with a key that it may use this channel. Create one for each program."
                  : "A program proves with a key that it may use this channel. An owner of the account creates it."}
              </EmptyState>
            )
          }
        </Loaded>
      </Stack>
      <CreateKeyDialog opened={creating} onClose={dialog.close} />
    </DevelopersTabs>
  );
}

/** What a program needs besides its key. */
function Authentication() {
  const { id } = useChannelScope();
  return (
    <Section
      title="Authentication"
      text={
        <>
          Send a key of this channel as <code>Authorization: Bearer …</code>
        </>
      }
      actions={
        <Group gap="sm">
          <Button
            component="a"
            href={`/api/v1/collection?channel=${id}`}
            download
            variant="default"
            size="sm"
            leftSection={<IconDownload size={16} aria-hidden />}
          >
            Postman collection
          </Button>
          <Button
            component="a"
            href="/docs"
            target="_blank"
            rel="noopener"
            variant="default"
            size="sm"
            leftSection={<IconBook size={16} aria-hidden />}
          >
            API reference
          </Button>
        </Group>
      }
    >
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Stack gap={4}>
          <Text size="sm" fw={600}>
            Base URL
          </Text>
          <CopyField label="Base URL" value={`${window.location.origin}/api/v1`} />
        </Stack>
        <Stack gap={4}>
          <Text size="sm" fw={600}>
            Channel
          </Text>
          <CopyField label="Channel" value={id} />
        </Stack>
      </SimpleGrid>
      <Text size="sm" c="dimmed">
        In the collection, set the variable <code>api_key</code> to a key.{" "}
        <Anchor href="/docs/how-to/rotate-keys" target="_blank" rel="noopener" inherit underline="always">
          How to rotate keys
        </Anchor>
      </Text>
    </Section>
  );
}

function KeyList({ keys, owner }: { keys: ApiKey[]; owner: boolean }) {
  const now = useNow();
  const [all, setAll] = useState(false);
  const over = keys.filter((key) => isOver(key, now)).length;
  const shown = keys.filter((key) => all || !isOver(key, now)).toReversed();
  return (
    <Stack gap="sm">
      <KeyTable keys={shown} owner={owner} now={now} />
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          {owner ? "A key is shown only once, when it is created." : "Only owners create, rotate and revoke keys."}
        </Text>
        {over > 0 && (
          <Switch
            label={`Show revoked and expired keys (${over})`}
            checked={all}
            onChange={(event) => setAll(event.currentTarget.checked)}
          />
        )}
      </Group>
    </Stack>
  );
}
