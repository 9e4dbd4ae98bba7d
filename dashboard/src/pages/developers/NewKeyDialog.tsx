import { Anchor, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { CopyField } from "../../shared/ui/CopyField";
import { ShownOnce } from "../../shared/ui/ShownOnce";
import type { NewApiKey } from "./queries";

/** A new key, which the gateway never shows again. */
export function NewKeyDialog({ made, onDone }: { made: NewApiKey | null; onDone: () => void }) {
  return (
    <ShownOnce title="New key" opened={made !== null} onDone={onDone}>
      <Text size="sm">
        Copy the key now and keep it in a safe place: it is not shown again. Until you leave this page, the{" "}
        <Anchor component={Link} to="/developers/examples" inherit underline="always">
          code examples
        </Anchor>{" "}
        contain it.
      </Text>
      {made && <CopyField label="API key" value={made.key} first />}
    </ShownOnce>
  );
}
