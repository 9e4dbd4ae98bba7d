import { performChange } from "../../shared/mutations";
import { FormDialog } from "../../shared/ui/FormDialog";
import { showDone } from "../../shared/ui/notices";
import { useClose } from "../../shared/ui/opening";
import { EndpointFields } from "./EndpointFields";
import { bodyOf, changeOf, type EndpointForm, formOf, readHeaders } from "./form";
import { useChangeEndpoint, type Webhook } from "./queries";

type Props = { endpoint: Webhook; opened: boolean; onClose: () => void };

export function EditDialog({ endpoint, opened, onClose }: Props) {
  return (
    <FormDialog opened={opened} onClose={onClose} title="Edit the endpoint" size="lg">
      <Edit endpoint={endpoint} onDone={onClose} />
    </FormDialog>
  );
}

function Edit({ endpoint, onDone }: { endpoint: Webhook; onDone: () => void }) {
  const change = useChangeEndpoint(endpoint.id);
  const close = useClose(onDone);
  const done = () => {
    close();
    showDone("The endpoint is changed.");
  };
  return (
    <EndpointFields
      initial={formOf(endpoint)}
      action="Save"
      busy={change.isPending}
      error={change.error}
      onSubmit={(body, before) => performChange(change, changeOf(bodyBefore(before), body), done)}
    />
  );
}

function bodyBefore(form: EndpointForm) {
  const read = readHeaders(form.headers);
  return bodyOf(form, "headers" in read ? read.headers : {});
}
