import { Code, Stack, Text } from "@mantine/core";
import { CopyField } from "../../shared/ui/CopyField";

// All that the gateway reads; a test compares them.
const FIELDS = [
  "messages",
  "message_template_status_update",
  "message_template_quality_update",
  "message_template_components_update",
  "template_category_update",
  "phone_number_quality_update",
  "phone_number_name_update",
  "business_capability_update",
  "account_update",
  "account_alerts",
  "account_review_update",
  "security",
  "user_preferences",
  "smb_message_echoes",
];

type Props = { callbackUrl: string; verifyToken: string };

/** What the app at the network has to know, so that messages and statuses arrive. */
export function CallbackFields({ callbackUrl, verifyToken }: Props) {
  return (
    <Stack gap="sm">
      <Labelled label="Callback URL" value={callbackUrl} />
      <Labelled label="Verify token" value={verifyToken} />
      <Text size="sm" c="dimmed">
        Enter both under WhatsApp → Configuration of the app. The network must be able to reach the address over HTTPS.
        Then subscribe to these fields:
      </Text>
      <Code block>{FIELDS.join("\n")}</Code>
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
