import { Badge, type MantineSize } from "@mantine/core";

/** How a status is shown. Colours: teal (good), yellow (waits), orange (needs a look), red (failed), gray (over). */
export type Look = { label: string; color: string };

export function StatusBadge({ look, size }: { look: Look; size?: MantineSize }) {
  return (
    <Badge variant="light" color={look.color} size={size}>
      {look.label}
    </Badge>
  );
}
