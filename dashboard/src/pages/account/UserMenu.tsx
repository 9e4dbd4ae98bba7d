import { Menu, Text } from "@mantine/core";
import { IconKey, IconTrash, IconUserCog } from "@tabler/icons-react";
import { useState } from "react";
import { perform } from "../../shared/mutations";
import { useSession } from "../../shared/session/queries";
import { ActionMenu } from "../../shared/ui/ActionMenu";
import { ConfirmDialog } from "../../shared/ui/ConfirmDialog";
import { Dialog } from "../../shared/ui/Dialog";
import { Form } from "../../shared/ui/Form";
import { showDone, showFailure } from "../../shared/ui/notices";
import { useClose } from "../../shared/ui/opening";
import { RoleChoice } from "./InviteDialog";
import { type User, type UserLink, useChangeRole, useCreateLink, useRemoveUser } from "./queries";

type Props = { user: User; onLink: (link: UserLink) => void };

/** What an owner can do with a person, and the dialogs of it. */
export function UserMenu({ user, onLink }: Props) {
  const [dialog, setDialog] = useState<"role" | "remove" | null>(null);
  const createLink = useCreateLink(user);
  const close = () => setDialog(null);
  return (
    <>
      <ActionMenu label={`Actions for ${user.email}`}>
        <Menu.Item leftSection={<IconUserCog size={16} aria-hidden />} onClick={() => setDialog("role")}>
          Change the role
        </Menu.Item>
        <Menu.Item
          leftSection={<IconKey size={16} aria-hidden />}
          onClick={() => perform(createLink, undefined, { onSuccess: onLink, onError: showFailure })}
        >
          {user.invited ? "New invitation link" : "Reset the password"}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item color="red" leftSection={<IconTrash size={16} aria-hidden />} onClick={() => setDialog("remove")}>
          Remove
        </Menu.Item>
      </ActionMenu>
      <Dialog opened={dialog === "role"} onClose={close} title={`Role of ${user.name || user.email}`}>
        <RoleForm user={user} onDone={close} />
      </Dialog>
      <RemoveDialog user={user} opened={dialog === "remove"} onClose={close} />
    </>
  );
}

function RoleForm({ user, onDone }: { user: User; onDone: () => void }) {
  const [role, setRole] = useState<string>(user.role);
  const change = useChangeRole(user);
  const close = useClose(onDone);
  const done = () => {
    close();
    showDone("The role is changed. It counts at once, also in open sessions.");
  };
  return (
    <Form
      action="Save"
      busy={change.isPending}
      error={change.error}
      onSubmit={() => perform(change, role, { onSuccess: done })}
    >
      <RoleChoice value={role} onChange={setRole} />
    </Form>
  );
}

function RemoveDialog({ user, opened, onClose }: { user: User; opened: boolean; onClose: () => void }) {
  const remove = useRemoveUser(user);
  const { user: me } = useSession();
  return (
    <ConfirmDialog
      title={`Remove ${user.name || user.email}`}
      action="Remove"
      opened={opened}
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => perform(remove, undefined, { onSuccess: onClose })}
      onClose={onClose}
    >
      {user.id === me.id ? "You are signed out, and cannot sign in again." : `${user.email} is signed out at once.`}{" "}
      <Text span inherit>
        What was done stays in the log.
      </Text>
    </ConfirmDialog>
  );
}
