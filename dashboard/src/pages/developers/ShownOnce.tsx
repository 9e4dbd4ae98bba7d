import { Anchor, Button, Group, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { CopyField } from "../../shared/ui/CopyField";

/** A new key, which the gateway never shows again. */
export function ShownOnce({ value, onDone }: { value: string; onDone: () => void }) {
  return (
    <Stack>
      <Text size="sm">
        Copy the key now and keep it in a safe place: it is not shown again. Until you leave this page, the{" "}
        <Anchor component={Link} to="/developers/examples" inherit underline="always">
          code examples
        </Anchor>{" "}
        contain it.
      </Text>
      <CopyField label="API key" value={value} />
      <Group justify="flex-end">
        <Button onClick={onDone}>I have copied it</Button>
      </Group>
    </Stack>
  );
}
