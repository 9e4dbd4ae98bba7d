import { ActionIcon, Button, Group, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconEdit, IconPlus, IconTags, IconTrash, IconUsers } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { type Label, useLabels } from "../../shared/labels";
import { perform } from "../../shared/mutations";
import { useMayManage } from "../../shared/session/queries";
import { ChannelPage } from "../../shared/ui/ChannelPage";
import { ConfirmDialog } from "../../shared/ui/ConfirmDialog";
import { EmptyState } from "../../shared/ui/EmptyState";
import { ColorDot } from "../../shared/ui/LabelBadge";
import { Loaded } from "../../shared/ui/Loaded";
import { showDone } from "../../shared/ui/notices";
import { SkeletonRows } from "../../shared/ui/SkeletonRows";
import { ContactsTabs } from "./ContactsTabs";
import { CreateLabelDialog, EditLabelDialog } from "./LabelDialogs";
import classes from "./LabelsPage.module.css";
import { useDeleteLabel } from "./queries";

export function LabelsPage() {
  return (
    <ChannelPage>
      <Labels />
    </ChannelPage>
  );
}

function Labels() {
  const labels = useLabels();
  const mayManage = useMayManage();
  const [creating, dialog] = useDisclosure();
  const add = mayManage && (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={dialog.open}>
      Add a label
    </Button>
  );
  return (
    <ContactsTabs actions={labels.data?.length ? add : null}>
      <Loaded query={labels} loading={<SkeletonRows label="Loading labels" rows={3} />}>
        {(list) =>
          list.length ? (
            <ul className={`surface ${classes.list}`} aria-label="Labels">
              {list.map((label) => (
                <li key={label.id} className={classes.row}>
                  <Row label={label} mayManage={mayManage} />
                </li>
              ))}
            </ul>
          ) : (
            <EmptyState icon={IconTags} title="No labels yet" action={add}>
              Labels sort contacts and conversations, for example “VIP” or “Waiting for payment”.
            </EmptyState>
          )
        }
      </Loaded>
      <CreateLabelDialog opened={creating} onClose={dialog.close} />
    </ContactsTabs>
  );
}

function Row({ label, mayManage }: { label: Label; mayManage: boolean }) {
  const [editing, edit] = useDisclosure();
  const [deleting, remove] = useDisclosure();
  const deletion = useDeleteLabel(label.id);
  const done = () => {
    remove.close();
    showDone("The label is deleted.");
  };
  return (
    <Group wrap="nowrap" gap="sm" flex={1} miw={0}>
      <ColorDot color={label.color} size={14} />
      <Text fw={600} py="xs" flex={1} style={{ overflowWrap: "anywhere" }}>
        {label.name}
      </Text>
      <Button
        variant="subtle"
        size="compact-sm"
        renderRoot={(props) => <Link {...props} to="/contacts" search={{ label: label.id }} />}
        aria-label={`Contacts with ${label.name}`}
        visibleFrom="xs"
      >
        Contacts
      </Button>
      <ActionIcon
        variant="subtle"
        size="lg"
        renderRoot={(props) => <Link {...props} to="/contacts" search={{ label: label.id }} />}
        aria-label={`Contacts with ${label.name}`}
        hiddenFrom="xs"
      >
        <IconUsers size={18} aria-hidden />
      </ActionIcon>
      {mayManage && (
        <>
          <ActionIcon variant="subtle" color="gray" size="lg" aria-label={`Edit ${label.name}`} onClick={edit.open}>
            <IconEdit size={18} aria-hidden />
          </ActionIcon>
          <ActionIcon variant="subtle" color="red" size="lg" aria-label={`Delete ${label.name}`} onClick={remove.open}>
            <IconTrash size={18} aria-hidden />
          </ActionIcon>
        </>
      )}
      <EditLabelDialog label={label} opened={editing} onClose={edit.close} />
      <ConfirmDialog
        title="Delete the label"
        action="Delete"
        opened={deleting}
        busy={deletion.isPending}
        error={deletion.error}
        onConfirm={() => perform(deletion, undefined, { onSuccess: done })}
        onClose={remove.close}
      >
        “{label.name}” is taken off all contacts and conversations.
      </ConfirmDialog>
    </Group>
  );
}
