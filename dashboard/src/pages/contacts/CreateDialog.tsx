import { perform } from "../../shared/mutations";
import { FormDialog } from "../../shared/ui/Dialog";
import { showDone } from "../../shared/ui/notices";
import { ContactFields } from "./ContactFields";
import { createBody, NEW_CONTACT } from "./form";
import { useCreateContact } from "./queries";

type Props = { opened: boolean; onClose: () => void; onCreated: (contact: string) => void };

export function CreateDialog({ opened, onClose, onCreated }: Props) {
  const create = useCreateContact();
  return (
    <FormDialog opened={opened} onClose={onClose} title="Add a contact">
      <ContactFields
        initial={NEW_CONTACT}
        withPhone
        action="Add"
        busy={create.isPending}
        error={create.error}
        onSubmit={(form) =>
          perform(create, createBody(form), {
            onSuccess: (contact) => {
              onClose();
              showDone("The contact is added.");
              onCreated(contact.id);
            },
          })
        }
      />
    </FormDialog>
  );
}
