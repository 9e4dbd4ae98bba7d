import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { inFull } from "../../shared/times";
import { CopyField } from "../../shared/ui/CopyField";
import type { UserLink } from "./queries";

/** Shows a one-time link, which the gateway never shows again. */
export function LinkDialog({ link, onClose }: { link: UserLink | null; onClose: () => void }) {
  const invitation = link?.purpose === "invitation";
  return (
    <Modal
      opened={link !== null}
      onClose={onClose}
      title={invitation ? "Invitation created" : "Reset link created"}
      size="lg"
      closeOnClickOutside={false}
    >
      {link && (
        <Stack>
          <Text size="sm">
            Send this link to {link.email}. It works once, until {inFull(link.expires_at)}. Copy it now: it is not shown
            again.
          </Text>
          <CopyField label="Link" value={link.link} />
          <Group justify="flex-end">
            <Button onClick={onClose}>I have copied it</Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
}
