import { perform } from "../../shared/mutations";
import { FormDialog } from "../../shared/ui/FormDialog";
import { useClose } from "../../shared/ui/opening";
import { EndpointFields } from "./EndpointFields";
import { NEW_ENDPOINT } from "./form";
import { type NewWebhook, useCreateEndpoint } from "./queries";

type Props = { opened: boolean; onClose: () => void; onCreated: (webhook: NewWebhook) => void };

export function CreateDialog({ opened, onClose, onCreated }: Props) {
  return (
    <FormDialog opened={opened} onClose={onClose} title="Add an endpoint" size="lg">
      <Create onClose={onClose} onCreated={onCreated} />
    </FormDialog>
  );
}

function Create({ onClose, onCreated }: Omit<Props, "opened">) {
  const create = useCreateEndpoint();
  const close = useClose(onClose);
  const done = (webhook: NewWebhook) => {
    close();
    onCreated(webhook);
  };
  return (
    <EndpointFields
      initial={NEW_ENDPOINT}
      action="Add"
      busy={create.isPending}
      error={create.error}
      onSubmit={(body) => perform(create, body, { onSuccess: done })}
    />
  );
}
