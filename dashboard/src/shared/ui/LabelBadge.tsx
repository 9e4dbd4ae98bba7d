import { Badge, Box } from "@mantine/core";
import type { LabelRef } from "../labels";

/** A label with a dot of its colour: its text stays readable in any colour. */
export function LabelBadge({ label }: { label: Pick<LabelRef, "name" | "color"> }) {
  return (
    <Badge variant="default" maw={180} miw={0} leftSection={<ColorDot color={label.color} />} title={label.name}>
      {label.name}
    </Badge>
  );
}

export function ColorDot({ color, size = 9 }: { color: string | null; size?: number }) {
  return <Box w={size} h={size} bg={color ?? "gray.6"} style={{ borderRadius: "50%", flexShrink: 0 }} aria-hidden />;
}
