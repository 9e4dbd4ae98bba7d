import { Text } from "@mantine/core";
import { inFull } from "../../shared/times";
import { CopyField } from "../../shared/ui/CopyField";
import { ShownOnce } from "../../shared/ui/ShownOnce";
import type { UserLink } from "./queries";

/** Shows a one-time link, which the gateway never shows again. */
export function LinkDialog({ link, onClose }: { link: UserLink | null; onClose: () => void }) {
  const invitation = link?.purpose === "invitation";
  return (
    <ShownOnce title={invitation ? "Invitation created" : "Reset link created"} opened={link !== null} onDone={onClose}>
      {link && (
        <>
          <Text size="sm">
            Send this link to {link.email}. It works once, until {inFull(link.expires_at)}. Copy it now: it is not shown
            again.
          </Text>
          <CopyField label="Link" value={link.link} first />
        </>
      )}
    </ShownOnce>
  );
}
