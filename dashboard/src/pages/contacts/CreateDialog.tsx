import { Modal } from "@mantine/core";
import { perform } from "../../shared/mutations";
import { showDone } from "../../shared/ui/notices";
import { ContactFields } from "./ContactFields";
import { createBody, NEW_CONTACT } from "./form";
import { useCreateContact } from "./queries";

type Props = { opened: boolean; onClose: () => void; onCreated: (contact: string) => void };

export function CreateDialog({ opened, onClose, onCreated }: Props) {
  const create = useCreateContact();
  return (
    <Modal opened={opened} onClose={onClose} title="Add a contact" closeOnClickOutside={false}>
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
    </Modal>
  );
}
