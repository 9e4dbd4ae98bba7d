import { Badge, Box, Group, Menu, Skeleton, Stack, Text } from "@mantine/core";
import { IconArrowMerge, IconTrash } from "@tabler/icons-react";
import { useRef, useState } from "react";
import { perform, performChange } from "../../shared/mutations";
import { useMayManage, useMayWork } from "../../shared/session/queries";
import { inFull } from "../../shared/times";
import { ActionMenu } from "../../shared/ui/ActionMenu";
import { ConfirmDialog } from "../../shared/ui/ConfirmDialog";
import { CopyIcon } from "../../shared/ui/CopyField";
import { Loaded } from "../../shared/ui/Loaded";
import { showDone } from "../../shared/ui/notices";
import { OpenConversation } from "../../shared/ui/OpenConversation";
import { useClose } from "../../shared/ui/opening";
import { PersonAvatar } from "../../shared/ui/PersonAvatar";
import { SidePanel } from "../../shared/ui/SidePanel";
import { Unsaved } from "../../shared/ui/Unsaved";
import { ContactFields } from "./ContactFields";
import { ContactLabels } from "./ContactLabels";
import { type ContactForm, changeBody, formOf, titleOf } from "./form";
import { MergeDialog } from "./MergeDialog";
import { type Contact, useChangeContact, useContact, useDeleteContact } from "./queries";

type Props = { contact: string | undefined; onOpen: (contact?: string) => void };

/** One contact: who it is, and everything that can be changed. */
export function ContactDrawer({ contact, onOpen }: Props) {
  const [edited, setEdited] = useState<string | null>(null); // the contact with a change that is not saved
  const mark = (id: string) => (changed: boolean) =>
    setEdited((before) => (changed ? id : before === id ? null : before));
  const isEdited = edited !== null && edited === contact;
  const close = () => {
    setEdited(null);
    onOpen(undefined);
  };
  return (
    <>
      <SidePanel title="Contact" id={contact} edited={isEdited} onClose={close}>
        {(id) => <Details id={id} onEdited={mark(id)} onGone={close} />}
      </SidePanel>
      <Unsaved edited={isEdited} />
    </>
  );
}

type DetailsProps = { id: string; onEdited: (changed: boolean) => void; onGone: () => void };

function Details({ id, onEdited, onGone }: DetailsProps) {
  const mayManage = useMayManage();
  const mayWork = useMayWork();
  return (
    <Loaded query={useContact(id)} loading={<Skeleton height={320} aria-label="Loading the contact" />}>
      {(contact) => (
        <Stack gap="lg">
          <Group wrap="nowrap" align="flex-start">
            <Person contact={contact} />
            {mayManage && <Actions contact={contact} onGone={onGone} />}
          </Group>
          <OpenConversation id={contact.conversation.id} />
          <ContactLabels contact={contact} />
          {mayWork ? <Edit contact={contact} onEdited={onEdited} /> : <Fields contact={contact} />}
          <Text size="xs" c="dimmed">
            Known since {inFull(contact.created_at)}, last changed on {inFull(contact.updated_at)}.
          </Text>
        </Stack>
      )}
    </Loaded>
  );
}

function Person({ contact }: { contact: Contact }) {
  const title = titleOf(contact);
  return (
    <>
      <PersonAvatar name={title} size={52} />
      <Box flex={1} miw={0}>
        <Text fw={650} size="lg" style={{ overflowWrap: "anywhere" }}>
          {title}
        </Text>
        {contact.phone && (
          <Group gap={4}>
            <Text c="dimmed">+{contact.phone}</Text>
            <CopyIcon label="the phone number" value={contact.phone} />
          </Group>
        )}
        {contact.username && (
          <Text c="dimmed" style={{ overflowWrap: "anywhere" }}>
            {contact.username}
          </Text>
        )}
        {contact.opted_out && (
          <Badge variant="light" color="orange" mt={4}>
            Opted out of marketing
          </Badge>
        )}
      </Box>
    </>
  );
}

function Edit({ contact, onEdited }: { contact: Contact; onEdited: (changed: boolean) => void }) {
  const change = useChangeContact(contact.id);
  const inputs = useRef(0);
  const edit = () => {
    inputs.current += 1;
    onEdited(true);
  };
  const submit = (form: ContactForm, before: ContactForm) => {
    const sent = inputs.current;
    performChange(change, changeBody(before, form), () => {
      if (inputs.current === sent) onEdited(false); // nothing was typed while it was saved
      showDone("The contact is changed.");
    });
  };
  return (
    <div onInput={edit}>
      <ContactFields
        initial={formOf(contact)}
        withPhone={false}
        action="Save"
        busy={change.isPending}
        error={change.error}
        onSubmit={submit}
      />
    </div>
  );
}

/** The custom fields for a person who may not change them. */
function Fields({ contact }: { contact: Contact }) {
  const fields = Object.entries(contact.custom);
  if (fields.length === 0) return null;
  return (
    <Stack component="dl" gap="xs" m={0}>
      {fields.map(([name, value]) => (
        <Box key={name}>
          <Text component="dt" size="sm" c="dimmed">
            {name}
          </Text>
          <Text component="dd" m={0} style={{ overflowWrap: "anywhere" }}>
            {value}
          </Text>
        </Box>
      ))}
    </Stack>
  );
}

function Actions({ contact, onGone }: { contact: Contact; onGone: () => void }) {
  const [dialog, setDialog] = useState<"merge" | "delete" | null>(null);
  const remove = useDeleteContact(contact.id);
  const close = () => setDialog(null);
  const closePanel = useClose(onGone);
  const done = () => {
    close();
    closePanel();
    showDone("The contact is deleted.");
  };
  return (
    <>
      <ActionMenu label="Actions for this contact">
        <Menu.Item leftSection={<IconArrowMerge size={16} aria-hidden />} onClick={() => setDialog("merge")}>
          Merge with another
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item color="red" leftSection={<IconTrash size={16} aria-hidden />} onClick={() => setDialog("delete")}>
          Delete
        </Menu.Item>
      </ActionMenu>
      <MergeDialog contact={contact} opened={dialog === "merge"} onClose={close} />
      <ConfirmDialog
        title="Delete the contact"
        action="Delete"
        opened={dialog === "delete"}
        busy={remove.isPending}
        error={remove.error}
        onConfirm={() => perform(remove, undefined, { onSuccess: done })}
        onClose={close}
      >
        {titleOf(contact)} is deleted with its labels and fields. The messages stay under the number.
      </ConfirmDialog>
    </>
  );
}
