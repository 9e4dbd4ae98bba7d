import { performChange } from "../../shared/mutations";
import { FormDialog } from "../../shared/ui/Dialog";
import { showDone } from "../../shared/ui/notices";
import { EndpointFields } from "./EndpointFields";
import { bodyOf, changeOf, type EndpointForm, formOf, readHeaders } from "./form";
import { useChangeEndpoint, type Webhook } from "./queries";

type Props = { endpoint: Webhook; opened: boolean; onClose: () => void };

export function EditDialog({ endpoint, opened, onClose }: Props) {
  const change = useChangeEndpoint(endpoint.id);
  const done = () => {
    onClose();
    showDone("The endpoint is changed.");
  };
  return (
    <FormDialog opened={opened} onClose={onClose} title="Edit the endpoint" size="lg">
      <EndpointFields
        initial={formOf(endpoint)}
        action="Save"
        busy={change.isPending}
        error={change.error}
        onSubmit={(body, before) => performChange(change, changeOf(bodyBefore(before), body), done)}
      />
    </FormDialog>
  );
}

function bodyBefore(form: EndpointForm) {
  const read = readHeaders(form.headers);
  return bodyOf(form, "headers" in read ? read.headers : {});
}
