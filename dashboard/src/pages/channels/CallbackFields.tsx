import { Stack, Text } from "@mantine/core";
import { CopyField } from "../../shared/ui/CopyField";

type Props = { callbackUrl: string; verifyToken: string };

/** What the app at the network has to know, so that messages and statuses arrive. */
export function CallbackFields({ callbackUrl, verifyToken }: Props) {
  return (
    <Stack gap="sm">
      <Labelled label="Callback URL" value={callbackUrl} />
      <Labelled label="Verify token" value={verifyToken} />
      <Text size="sm" c="dimmed">
        Enter both under WhatsApp → Configuration of the app, and subscribe to <code>messages</code>,{" "}
        <code>message_template_status_update</code>, <code>phone_number_quality_update</code> and{" "}
        <code>account_update</code>. The network must be able to reach the address over HTTPS.
      </Text>
    </Stack>
  );
}

function Labelled({ label, value }: { label: string; value: string }) {
  return (
    <Stack gap={4}>
      <Text size="sm" fw={500}>
        {label}
      </Text>
      <CopyField label={label} value={value} />
    </Stack>
  );
}
