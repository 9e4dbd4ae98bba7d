import { ActionIcon, Button, Group, Skeleton, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconEdit, IconPlus, IconTags, IconTrash } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { type Label, useLabels } from "../../shared/labels";
import { useMayManage } from "../../shared/session/queries";
import { ChannelPage } from "../../shared/ui/ChannelPage";
import { ConfirmDialog } from "../../shared/ui/ConfirmDialog";
import { EmptyState } from "../../shared/ui/EmptyState";
import { Failure } from "../../shared/ui/Failure";
import { ColorDot } from "../../shared/ui/LabelBadge";
import { showDone } from "../../shared/ui/notices";
import { ContactsHeader } from "./ContactsHeader";
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
    <ContactsHeader tab="labels" actions={labels.data?.length ? add : null}>
      {labels.isPending && (
        <Stack gap="xs" role="status" aria-label="Loading labels">
          {[0, 1, 2].map((row) => (
            <Skeleton key={row} height={56} radius={8} />
          ))}
        </Stack>
      )}
      {labels.isError && !labels.data && <Failure error={labels.error} onRetry={() => void labels.refetch()} />}
      {labels.data?.length === 0 && (
        <EmptyState icon={IconTags} title="No labels yet" action={add}>
          Labels sort contacts and conversations, for example “VIP” or “Waiting for payment”.
        </EmptyState>
      )}
      {labels.data && labels.data.length > 0 && (
        <ul className={`surface ${classes.list}`} aria-label="Labels">
          {labels.data.map((label) => (
            <li key={label.id} className={classes.row}>
              <Row label={label} mayManage={mayManage} />
            </li>
          ))}
        </ul>
      )}
      <CreateLabelDialog opened={creating} onClose={dialog.close} />
    </ContactsHeader>
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
      <Text fw={600} truncate flex={1} title={label.name}>
        {label.name}
      </Text>
      <Button
        variant="subtle"
        size="compact-sm"
        renderRoot={(props) => <Link {...props} to="/contacts" search={{ label: label.id }} />}
        aria-label={`Contacts with ${label.name}`}
      >
        Contacts
      </Button>
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
        onConfirm={() => deletion.mutate(undefined, { onSuccess: done })}
        onClose={remove.close}
      >
        “{label.name}” is taken off all contacts and conversations.
      </ConfirmDialog>
    </Group>
  );
}
