import { perform } from "../../shared/mutations";
import { FormDialog } from "../../shared/ui/Dialog";
import { EndpointFields } from "./EndpointFields";
import { NEW_ENDPOINT } from "./form";
import { type NewWebhook, useCreateEndpoint } from "./queries";

type Props = { opened: boolean; onClose: () => void; onCreated: (webhook: NewWebhook) => void };

export function CreateDialog({ opened, onClose, onCreated }: Props) {
  const create = useCreateEndpoint();
  return (
    <FormDialog opened={opened} onClose={onClose} title="Add an endpoint" size="lg">
      <EndpointFields
        initial={NEW_ENDPOINT}
        action="Add"
        busy={create.isPending}
        error={create.error}
        onSubmit={(body) => perform(create, body, { onSuccess: onCreated })}
      />
    </FormDialog>
  );
}
