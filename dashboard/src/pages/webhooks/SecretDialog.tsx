import { Anchor, Button, Group, Modal, Stack, Text } from "@mantine/core";
import { CopyField } from "../../shared/ui/CopyField";
import type { NewWebhook } from "./queries";

type Props = { webhook: NewWebhook | null; title: string; onClose: () => void };

/** Shows the signing secret, which the gateway never shows again. */
export function SecretDialog({ webhook, title, onClose }: Props) {
  return (
    <Modal opened={webhook !== null} onClose={onClose} title={title} size="lg" closeOnClickOutside={false}>
      {webhook && <SecretView secret={webhook.secret} onDone={onClose} />}
    </Modal>
  );
}

export function SecretView({ secret, onDone }: { secret: string; onDone: () => void }) {
  return (
    <Stack>
      <Text size="sm">
        Your server checks with this secret that an event comes from Gatepost. Copy it now: it is not shown again.{" "}
        <Anchor href="/docs/how-to/verify-webhooks" target="_blank" rel="noopener">
          How to verify webhooks
        </Anchor>
      </Text>
      <CopyField label="Signing secret" value={secret} />
      <Group justify="flex-end">
        <Button onClick={onDone}>I have copied it</Button>
      </Group>
    </Stack>
  );
}
