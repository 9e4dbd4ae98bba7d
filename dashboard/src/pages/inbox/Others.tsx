import { Group, Text } from "@mantine/core";
import { IconEye, IconPencil } from "@tabler/icons-react";
import { type Other, useOthers } from "../../shared/live/presence";

/** Says who else is looking at a conversation, or typing in it. */
export function Others({ conversation }: { conversation: string }) {
  const others = useOthers(conversation);
  const words = othersInWords(others);
  const Picture = others.some(({ state }) => state === "typing") ? IconPencil : IconEye;
  return (
    <div role="status">
      {words && (
        <Group gap={6} px="md" py={4} wrap="nowrap">
          <Picture size={14} aria-hidden />
          <Text size="xs" c="dimmed" truncate>
            {words}
          </Text>
        </Group>
      )}
    </div>
  );
}

/** Those who are typing are named, else those who are looking. */
export function othersInWords(others: Pick<Other, "name" | "state">[]): string {
  const typing = others.filter(({ state }) => state === "typing");
  const [shown, doing] = typing.length ? [typing, "typing"] : [others, "looking at this conversation"];
  if (shown.length === 0) return "";
  const names = shown.map(({ name }) => name);
  const last = names.pop();
  return names.length ? `${names.join(", ")} and ${last} are ${doing}.` : `${last} is ${doing}.`;
}
