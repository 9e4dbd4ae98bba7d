import { Group, MultiSelect, Text } from "@mantine/core";
import { useLabels } from "../../shared/labels";
import { perform } from "../../shared/mutations";
import { useMayWork } from "../../shared/session/queries";
import { ColorDot, LabelBadge } from "../../shared/ui/LabelBadge";
import { showFailure } from "../../shared/ui/notices";
import { type Contact, useLabelContact } from "./queries";

/** The labels of a contact, to see or to change. */
export function ContactLabels({ contact }: { contact: Contact }) {
  const mayWork = useMayWork();
  const { data: labels } = useLabels();
  const change = useLabelContact(contact.id);
  const before = contact.labels.map(({ id }) => id);
  if (!mayWork) {
    return (
      <Group gap={6} aria-label="Labels" role="group">
        {contact.labels.map((label) => (
          <LabelBadge key={label.id} label={label} />
        ))}
      </Group>
    );
  }
  const colors = new Map(labels?.map(({ id, color }) => [id, color]));
  return (
    <MultiSelect
      label="Labels"
      placeholder={before.length ? undefined : "None"}
      data={labels?.map(({ id, name }) => ({ value: id, label: name })) ?? []}
      value={change.isPending ? applied(before, change.variables) : before}
      onChange={(after) =>
        perform(
          change,
          { put: after.filter((id) => !before.includes(id)), take: before.filter((id) => !after.includes(id)) },
          { onError: showFailure },
        )
      }
      renderOption={({ option }) => (
        <Group gap="sm" wrap="nowrap">
          <ColorDot color={colors.get(option.value) ?? null} />
          <Text size="sm">{option.label}</Text>
        </Group>
      )}
      nothingFoundMessage="No such label. Make it on the page Labels."
      disabled={change.isPending}
      searchable
    />
  );
}

function applied(before: string[], { put, take }: { put: string[]; take: string[] }): string[] {
  return [...before.filter((id) => !take.includes(id)), ...put];
}
