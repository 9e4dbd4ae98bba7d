import { Alert, Box, Button, Group, Skeleton, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconAlertCircle, IconEdit, IconTrash } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { perform } from "../../shared/mutations";
import { useMayManage } from "../../shared/session/queries";
import { inFull } from "../../shared/times";
import { ConfirmDialog } from "../../shared/ui/ConfirmDialog";
import { Loaded } from "../../shared/ui/Loaded";
import { showDone } from "../../shared/ui/notices";
import { useClose } from "../../shared/ui/opening";
import { SidePanel } from "../../shared/ui/SidePanel";
import { PhonePreview } from "./PhonePreview";
import { bubbleOf, formOf } from "./parts";
import { type Template, useDeleteTemplate, useTemplate } from "./queries";
import { Badges } from "./TemplateTable";
import { inPlainWords, mayEdit } from "./words";

type Props = { template: string | undefined; onClose: () => void };

/** One template: how it looks, what the network says, and what can be done. */
export function TemplateDrawer({ template, onClose }: Props) {
  return (
    <SidePanel title="Template" id={template} onClose={onClose}>
      {(id) => <Details id={id} onGone={onClose} />}
    </SidePanel>
  );
}

function Details({ id, onGone }: { id: string; onGone: () => void }) {
  return (
    <Loaded query={useTemplate(id)} loading={<Skeleton height={320} aria-label="Loading the template" />}>
      {(template) => <Shown template={template} onGone={onGone} />}
    </Loaded>
  );
}

function Shown({ template, onGone }: { template: Template; onGone: () => void }) {
  const mayManage = useMayManage();
  return (
    <Stack gap="lg">
      <Box>
        <Text fw={650} size="lg" mb={6} style={{ overflowWrap: "anywhere" }}>
          {template.name}
        </Text>
        <Badges template={template} />
        <Text c="dimmed" size="sm" mt={6}>
          {inPlainWords(template.category)}, {template.language}
        </Text>
      </Box>
      {template.reason && (
        <Alert
          color="red"
          icon={<IconAlertCircle size={18} aria-hidden />}
          title="The network's reason"
          style={{ overflowWrap: "anywhere" }}
        >
          {inPlainWords(template.reason)}
        </Alert>
      )}
      <PhonePreview bubble={bubbleOf(template.components)} />
      {mayManage && <Actions template={template} onGone={onGone} />}
      <Text size="xs" c="dimmed">
        Last changed on {inFull(template.updated_at)}.
      </Text>
    </Stack>
  );
}

function Actions({ template, onGone }: { template: Template; onGone: () => void }) {
  const [deleting, dialog] = useDisclosure();
  const remove = useDeleteTemplate(template.id);
  const close = useClose(onGone);
  const done = () => {
    dialog.close();
    close();
    showDone("The template is deleted.");
  };
  return (
    <Stack gap="sm">
      <Group>
        {mayEdit(template.status) && formOf(template) && (
          <Button
            variant="default"
            leftSection={<IconEdit size={16} aria-hidden />}
            renderRoot={(props) => <Link {...props} to="/templates/editor" search={{ template: template.id }} />}
          >
            Edit
          </Button>
        )}
        <Button color="red" variant="subtle" leftSection={<IconTrash size={16} aria-hidden />} onClick={dialog.open}>
          Delete
        </Button>
      </Group>
      <WhyNotEdited template={template} />
      <ConfirmDialog
        title="Delete the template"
        action="Delete"
        opened={deleting}
        busy={remove.isPending}
        error={remove.error}
        onConfirm={() => perform(remove, undefined, { onSuccess: done })}
        onClose={dialog.close}
      >
        {template.name} in {template.language} is deleted here and on the network. Messages with it cannot be sent any
        more.
      </ConfirmDialog>
    </Stack>
  );
}

function WhyNotEdited({ template }: { template: Template }) {
  const words = !mayEdit(template.status)
    ? "It can be edited when the network has reviewed it."
    : formOf(template)
      ? null
      : "This editor knows text, footer and plain buttons. Edit this template with the API.";
  return words ? (
    <Text size="sm" c="dimmed">
      {words}
    </Text>
  ) : null;
}
