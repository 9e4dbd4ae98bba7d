import { Alert, Button, Group, Skeleton, Stack, Text } from "@mantine/core";
import { IconClock, IconLock, IconTemplate } from "@tabler/icons-react";
import { useState } from "react";
import { useSession } from "../../shared/session/queries";
import { CopyIcon } from "../../shared/ui/CopyField";
import { Loaded } from "../../shared/ui/Loaded";
import { ButtonsDialog } from "./ButtonsDialog";
import classes from "./Composer.module.css";
import { ListDialog } from "./ListDialog";
import { MessageForm, type MoreDialog } from "./MessageForm";
import { type ChannelInfo, type Conversation, useChannelInfo } from "./queries";
import { TemplateDialog } from "./TemplateDialog";
import { useUnsent, useUnsentId } from "./unsent";
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

/** The form for what may be sent now. Dialogs stay open, with what was written there, when that changes. */
function Allowed({ conversation, info }: { conversation: Conversation; info: ChannelInfo }) {
  const [dialog, setDialog] = useState<MoreDialog | null>(null);
  const now = useNow(TICK_MS);
  const window = readWindow(info.capabilities.window, conversation.window_ends_at, now);
  const props = { contact: conversation.contact.id, onClose: () => setDialog(null) };
  return (
    <>
      {window.open ? (
        <Open conversation={conversation} info={info} left={window.left} onMore={setDialog} />
      ) : (
        <Closed
          conversation={conversation}
          ever={window.ever}
          onTemplate={info.capabilities.templates ? () => setDialog("template") : undefined}
        />
      )}
      <TemplateDialog opened={dialog === "template"} {...props} />
      <ButtonsDialog opened={dialog === "buttons"} {...props} />
      <ListDialog opened={dialog === "list"} {...props} />
    </>
  );
}

type OpenProps = {
  conversation: Conversation;
  info: ChannelInfo;
  left: number | null;
  onMore: (dialog: MoreDialog) => void;
};

function Open({ conversation, info, left, onMore }: OpenProps) {
  return (
    <div className={classes.composer}>
      {info.connection.state !== "connected" && (
        <Alert color="orange" variant="light" p="xs" mb="xs">
          The channel is not connected. Messages wait until it is.
        </Alert>
      )}
      <MessageForm conversation={conversation} capabilities={info.capabilities} onMore={onMore} />
      {left !== null && (
        <Group gap={5} className={classes.window} data-soon={left < SOON || undefined}>
          <IconClock size={13} aria-hidden />
          <span>Free text is possible for another {timeLeft(left)}.</span>
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

type ClosedProps = { conversation: Conversation; ever: boolean; onTemplate: (() => void) | undefined };

function Closed({ conversation, ever, onTemplate }: ClosedProps) {
  const { text } = useUnsent(useUnsentId(conversation.id)).written;
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
        {onTemplate && (
          <Button leftSection={<IconTemplate size={16} aria-hidden />} onClick={onTemplate}>
            Send a template
          </Button>
        )}
      </Group>
      {text && (
        <Group gap="xs" mt="xs" wrap="nowrap">
          <Text size="sm" c="dimmed" lineClamp={3} style={{ overflowWrap: "anywhere" }}>
            Not sent, and kept until the person writes: {text}
          </Text>
          <CopyIcon label="the text that is not sent" value={text} />
        </Group>
      )}
    </div>
  );
}
