import { Button, Group, Select, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { inWords } from "../../shared/api/problem";
import { perform } from "../../shared/mutations";
import { FormDialog } from "../../shared/ui/FormDialog";
import { useClose } from "../../shared/ui/opening";
import { Problem } from "../../shared/ui/Problem";
import { type NewWebhook, useRotateSecret, type Webhook } from "./queries";
import { SecretDialog } from "./SecretDialog";

const OVERLAPS = [
  { value: "0", label: "Stops at once" },
  { value: "3600", label: "Works for another hour" },
  { value: "86400", label: "Works for another day" },
  { value: "604800", label: "Works for another week" },
];

type Props = { endpoint: Webhook; opened: boolean; onClose: () => void };

/** Makes a new signing secret. The old one signs for a while too, so that nothing is refused during the change. */
export function RotateDialog({ endpoint, opened, onClose }: Props) {
  const [made, setMade] = useState<NewWebhook | null>(null);
  return (
    <>
      <FormDialog opened={opened} onClose={onClose} title="New signing secret" size="lg">
        <Rotate endpoint={endpoint} onClose={onClose} onRotated={setMade} />
      </FormDialog>
      <SecretDialog webhook={made} title="New signing secret" onClose={() => setMade(null)} />
    </>
  );
}

type RotateProps = { endpoint: Webhook; onClose: () => void; onRotated: (webhook: NewWebhook) => void };

function Rotate({ endpoint, onClose, onRotated }: RotateProps) {
  const [overlap, setOverlap] = useState("86400");
  const rotate = useRotateSecret(endpoint.id);
  const close = useClose(onClose);
  const done = (webhook: NewWebhook) => {
    close();
    onRotated(webhook);
  };
  return (
    <Stack>
      <Text size="sm">Events to {endpoint.url} are signed with the new secret at once.</Text>
      <Select
        label="The old secret"
        data={OVERLAPS}
        value={overlap}
        onChange={(value) => setOverlap(value ?? "86400")}
        allowDeselect={false}
      />
      <Problem>{rotate.error ? inWords(rotate.error) : null}</Problem>
      <Group justify="flex-end">
        <Button loading={rotate.isPending} onClick={() => perform(rotate, Number(overlap), { onSuccess: done })}>
          Make a new secret
        </Button>
      </Group>
    </Stack>
  );
}
