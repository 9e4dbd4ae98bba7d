import { Menu } from "@mantine/core";
import {
  IconEdit,
  IconHistory,
  IconKey,
  IconPlayerPause,
  IconPlayerPlay,
  IconShieldCheck,
  IconTrash,
} from "@tabler/icons-react";
import { perform } from "../../shared/mutations";
import { ActionMenu } from "../../shared/ui/ActionMenu";
import { ConfirmDialog } from "../../shared/ui/ConfirmDialog";
import { showDone, showFailure } from "../../shared/ui/notices";
import { EditDialog } from "./EditDialog";
import { useChangeEndpoint, useDeleteEndpoint, type Webhook } from "./queries";
import { RecoverDialog } from "./RecoverDialog";
import { RotateDialog } from "./RotateDialog";
import { VerifyDialog } from "./VerifyDialog";

export type EndpointDialog = "edit" | "verify" | "rotate" | "recover" | "delete" | "test";

type Props = { endpoint: Webhook; dialog: EndpointDialog | null; onDialog: (dialog: EndpointDialog | null) => void };

/** What can be done with an endpoint, and the dialogs of it. */
export function EndpointMenu({ endpoint, dialog, onDialog }: Props) {
  const change = useChangeEndpoint(endpoint.id);
  const remove = useDeleteEndpoint(endpoint.id);
  const close = () => onDialog(null);
  const turn = (active: boolean) =>
    perform(
      change,
      { active },
      { onSuccess: () => showDone(active ? "The endpoint is on." : "The endpoint is off."), onError: showFailure },
    );
  return (
    <>
      <ActionMenu label={`Actions for ${endpoint.url}`}>
        <Menu.Item leftSection={<IconEdit size={16} aria-hidden />} onClick={() => onDialog("edit")}>
          Edit
        </Menu.Item>
        <Menu.Item leftSection={<IconKey size={16} aria-hidden />} onClick={() => onDialog("rotate")}>
          New signing secret
        </Menu.Item>
        <Menu.Item leftSection={<IconHistory size={16} aria-hidden />} onClick={() => onDialog("recover")}>
          Recover missed events
        </Menu.Item>
        <Menu.Item leftSection={<IconShieldCheck size={16} aria-hidden />} onClick={() => onDialog("verify")}>
          Verify a payload
        </Menu.Item>
        {endpoint.state === "active" ? (
          <Menu.Item leftSection={<IconPlayerPause size={16} aria-hidden />} onClick={() => turn(false)}>
            Turn off
          </Menu.Item>
        ) : (
          <Menu.Item leftSection={<IconPlayerPlay size={16} aria-hidden />} onClick={() => turn(true)}>
            Turn on
          </Menu.Item>
        )}
        <Menu.Divider />
        <Menu.Item color="red" leftSection={<IconTrash size={16} aria-hidden />} onClick={() => onDialog("delete")}>
          Delete
        </Menu.Item>
      </ActionMenu>
      <EditDialog endpoint={endpoint} opened={dialog === "edit"} onClose={close} />
      <RotateDialog endpoint={endpoint} opened={dialog === "rotate"} onClose={close} />
      <RecoverDialog endpoint={endpoint} opened={dialog === "recover"} onClose={close} />
      <VerifyDialog endpoint={endpoint.id} opened={dialog === "verify"} onClose={close} />
      <ConfirmDialog
        title="Delete the endpoint"
        action="Delete"
        opened={dialog === "delete"}
        busy={remove.isPending}
        error={remove.error}
        onConfirm={() => perform(remove, undefined, { onSuccess: close })}
        onClose={close}
      >
        {endpoint.url} gets no more events. What was delivered stays in the log.
      </ConfirmDialog>
    </>
  );
}
