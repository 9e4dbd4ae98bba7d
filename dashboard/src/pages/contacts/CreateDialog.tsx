import { perform } from "../../shared/mutations";
import { FormDialog } from "../../shared/ui/FormDialog";
import { showDone } from "../../shared/ui/notices";
import { useClose } from "../../shared/ui/opening";
import { ContactFields } from "./ContactFields";
import { createBody, NEW_CONTACT } from "./form";
import { useCreateContact } from "./queries";

type Props = { opened: boolean; onClose: () => void; onCreated: (contact: string) => void };

export function CreateDialog({ opened, onClose, onCreated }: Props) {
  return (
    <FormDialog opened={opened} onClose={onClose} title="Add a contact">
      <Create
        onCreated={(contact) => {
          onClose();
          onCreated(contact);
        }}
      />
    </FormDialog>
  );
}

function Create({ onCreated }: Pick<Props, "onCreated">) {
  const create = useCreateContact();
  const close = useClose(onCreated);
  const done = (contact: { id: string }) => {
    close(contact.id);
    showDone("The contact is added.");
  };
  return (
    <ContactFields
      initial={NEW_CONTACT}
      withPhone
      action="Add"
      busy={create.isPending}
      error={create.error}
      onSubmit={(form) => perform(create, createBody(form), { onSuccess: done })}
    />
  );
}
