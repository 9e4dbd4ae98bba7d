import { Alert, Button, Group, Skeleton, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconClock, IconLock, IconTemplate } from "@tabler/icons-react";
import { useSession } from "../../shared/session/queries";
import { Loaded } from "../../shared/ui/Loaded";
import classes from "./Composer.module.css";
import { MessageForm } from "./MessageForm";
import { type ChannelInfo, type Conversation, useChannelInfo } from "./queries";
import { TemplateDialog } from "./TemplateDialog";
import { useNow } from "./useNow";
import { readWindow, SOON, timeLeft } from "./window";
import { isOfGroup } from "./words";

const TICK_MS = 15_000;

/** The part under the messages: what can be sent here now, by the person's role, the channel and the 24-hour window. */
export function Composer({ conversation }: { conversation: Conversation }) {
  const maySend = useSession().scopes.includes("send");
  const channel = useChannelInfo();
  if (!maySend) return <Note>Your role allows you to read, but not to send.</Note>;
  if (isOfGroup(conversation.last_message)) return <Note>Messages to groups cannot be sent from here.</Note>;
  return (
    <Loaded query={channel} loading={<Skeleton height={88} m="md" />}>
      {(info) => <Allowed conversation={conversation} info={info} />}
    </Loaded>
  );
}

function Allowed({ conversation, info }: { conversation: Conversation; info: ChannelInfo }) {
  const now = useNow(TICK_MS);
  const contact = conversation.contact.id;
  const window = readWindow(info.capabilities.window, conversation.window_ends_at, now);
  if (!window.open) return <Closed ever={window.ever} contact={contact} templates={info.capabilities.templates} />;
  return (
    <div className={classes.composer}>
      {info.connection.state !== "connected" && (
        <Alert color="orange" variant="light" p="xs" mb="xs">
          The channel is not connected. Messages wait until it is.
        </Alert>
      )}
      <MessageForm conversation={conversation} contact={contact} capabilities={info.capabilities} />
      {window.left !== null && (
        <Group gap={5} className={classes.window} data-soon={window.left < SOON || undefined}>
          <IconClock size={13} aria-hidden />
          <span>Free text is possible for another {timeLeft(window.left)}.</span>
        </Group>
      )}
    </div>
  );
}

function Note({ children }: { children: string }) {
  return (
    <div className={classes.composer}>
      <Text size="sm" c="dimmed" ta="center">
        {children}
      </Text>
    </div>
  );
}

function Closed({ ever, contact, templates }: { ever: boolean; contact: string; templates: boolean }) {
  const [opened, dialog] = useDisclosure();
  return (
    <div className={classes.composer}>
      <Group justify="space-between" gap="sm">
        <Group gap="sm" wrap="nowrap" flex={1} miw={220}>
          <IconLock size={20} aria-hidden />
          <Stack gap={0}>
            <Text size="sm" fw={600}>
              {ever ? "The 24-hour window is closed" : "This person has not written yet"}
            </Text>
            <Text size="sm" c="dimmed">
              Only a template can be sent until the person writes.
            </Text>
          </Stack>
        </Group>
        {templates && (
          <Button leftSection={<IconTemplate size={16} aria-hidden />} onClick={dialog.open}>
            Send a template
          </Button>
        )}
      </Group>
      {templates && <TemplateDialog opened={opened} onClose={dialog.close} contact={contact} />}
    </div>
  );
}
