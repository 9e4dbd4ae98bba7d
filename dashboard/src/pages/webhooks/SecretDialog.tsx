import { Anchor, Text } from "@mantine/core";
import { CopyField } from "../../shared/ui/CopyField";
import { ShownOnce } from "../../shared/ui/ShownOnce";
import type { NewWebhook } from "./queries";

type Props = { webhook: NewWebhook | null; title: string; onClose: () => void };

/** Shows the signing secret, which the gateway never shows again. */
export function SecretDialog({ webhook, title, onClose }: Props) {
  return (
    <ShownOnce title={title} opened={webhook !== null} onDone={onClose}>
      <Text size="sm">
        Your server checks with this secret that an event comes from Gatepost. Copy it now: it is not shown again.{" "}
        <Anchor href="/docs/how-to/verify-webhooks" target="_blank" rel="noopener">
          How to verify webhooks
        </Anchor>
      </Text>
      {webhook && <CopyField label="Signing secret" value={webhook.secret} first />}
    </ShownOnce>
  );
}
