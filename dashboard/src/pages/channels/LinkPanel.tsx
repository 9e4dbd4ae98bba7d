import { Alert, Button, Center, Group, List, Loader, Stack, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconAlertTriangle } from "@tabler/icons-react";
import type { Channel } from "../../shared/channels";
import { useFields } from "../../shared/fields";
import { perform } from "../../shared/mutations";
import { ConfirmDialog } from "../../shared/ui/ConfirmDialog";
import { CopyField } from "../../shared/ui/CopyField";
import { Form } from "../../shared/ui/Form";
import { showDone, showFailure } from "../../shared/ui/notices";
import { QrCode } from "../../shared/ui/QrCode";
import { Section } from "../../shared/ui/Section";
import { Time } from "../../shared/ui/Time";
import { digitsOf } from "./form";
import { useConnect, useLinkCode, useLogOut, usePairingCode } from "./queries";

type Props = { channel: Channel; mayManage: boolean };

/** The link of a QR channel to its phone: the code to scan, or that it is linked. */
export function LinkPanel({ channel, mayManage }: Props) {
  const { connection } = channel;
  const up = connection === "connected" || connection === "limited";
  return (
    <Section title="Linked phone" actions={up && mayManage && <LogOut channel={channel} />}>
      {up ? (
        <Linked channel={channel} />
      ) : connection === "connecting" ? (
        <Waiting />
      ) : connection === "waiting_for_scan" ? (
        mayManage ? (
          <Scan channel={channel} />
        ) : (
          <Text size="sm">An owner is linking a phone.</Text>
        )
      ) : (
        <Unlinked channel={channel} mayManage={mayManage} />
      )}
    </Section>
  );
}

function Linked({ channel }: { channel: Channel }) {
  const since = channel.link?.linked_at;
  return (
    <Stack gap="xs">
      <Text size="sm" role="status">
        The phone +{channel.phone} is linked
        {since && (
          <>
            {" "}
            (<Time value={since} />)
          </>
        )}
        . It may be off; keep WhatsApp on it, and open it at least every two weeks.
      </Text>
      {channel.connection === "limited" && channel.reason && (
        <Alert color="orange" icon={<IconAlertTriangle size={18} aria-hidden />}>
          {channel.reason}
        </Alert>
      )}
    </Stack>
  );
}

function Waiting() {
  return (
    <Group gap="sm" role="status">
      <Loader size="sm" />
      <Text size="sm">Connecting to the network…</Text>
    </Group>
  );
}

function Unlinked({ channel, mayManage }: Props) {
  const connect = useConnect(channel.id);
  return (
    <Stack gap="sm" align="flex-start">
      {channel.reason && <Text size="sm">{channel.reason}</Text>}
      {mayManage && (
        <Button loading={connect.isPending} onClick={() => perform(connect, undefined, { onError: showFailure })}>
          Link a phone
        </Button>
      )}
    </Stack>
  );
}

/** The current code. The gateway gets a new one from the network before it expires, and it is shown at once. */
function Scan({ channel }: { channel: Channel }) {
  const code = useLinkCode(channel.id, channel.link?.qr_until ?? null);
  return (
    <Group align="flex-start" gap="xl">
      <Center w={240} h={240}>
        {code.data ? (
          <QrCode value={code.data.code} label="QR code to link the phone" size={240} />
        ) : (
          <Loader aria-label="Loading the code" />
        )}
      </Center>
      <Stack flex={1} miw={240} gap="lg">
        <List type="ordered" size="sm" spacing={6}>
          <List.Item>Open WhatsApp on the phone +{channel.phone}.</List.Item>
          <List.Item>Open Settings → Linked devices → Link a device.</List.Item>
          <List.Item>Point the camera at this code. It renews itself.</List.Item>
        </List>
        <Pairing channel={channel} />
      </Stack>
    </Group>
  );
}

/** A code to type on the phone, for those who cannot scan. */
function Pairing({ channel }: { channel: Channel }) {
  const [opened, form] = useDisclosure();
  const pair = usePairingCode(channel.id);
  const { values, text } = useFields({ phone: channel.phone }, pair.error);
  if (pair.data) {
    return (
      <Stack gap={6}>
        <Text size="sm">On the phone, choose “Link with phone number instead”, and type this code:</Text>
        <CopyField label="Pairing code" value={pair.data.code} />
      </Stack>
    );
  }
  if (!opened) {
    return (
      <Group>
        <Button variant="default" size="xs" onClick={form.open}>
          Use a pairing code instead
        </Button>
      </Group>
    );
  }
  return (
    <Form
      action="Get a code"
      busy={pair.isPending}
      error={pair.error}
      fields={["phone"]}
      onSubmit={() => pair.mutate(digitsOf(values.phone))}
    >
      <TextInput label="Number of the phone" type="tel" {...text("phone")} required />
    </Form>
  );
}

function LogOut({ channel }: { channel: Channel }) {
  const [opened, dialog] = useDisclosure();
  const leave = useLogOut(channel.id);
  const done = () => {
    dialog.close();
    showDone("The phone is being unlinked.");
  };
  return (
    <>
      <Button variant="default" size="xs" onClick={dialog.open}>
        Log out
      </Button>
      <ConfirmDialog
        title="Log the phone out"
        action="Log out"
        opened={opened}
        busy={leave.isPending}
        error={leave.error}
        onConfirm={() => perform(leave, undefined, { onSuccess: done })}
        onClose={dialog.close}
      >
        Nothing is sent or received until a phone is linked again. Conversations stay here.
      </ConfirmDialog>
    </>
  );
}
