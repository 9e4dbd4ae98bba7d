import { Button, Group, Modal, Select, Stack, Text } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useState } from "react";
import { inWords } from "../../shared/api/problem";
import { perform } from "../../shared/mutations";
import { showDone } from "../../shared/ui/notices";
import { Problem } from "../../shared/ui/Problem";
import { titleOf } from "./form";
import { type Contact, useFoundContacts, useMergeContact } from "./queries";

type Props = { contact: Contact; opened: boolean; onClose: () => void };

/** Makes one contact of two. */
export function MergeDialog({ contact, opened, onClose }: Props) {
  return (
    <Modal opened={opened} onClose={onClose} title="Merge with another contact">
      <Merge contact={contact} onClose={onClose} />
    </Modal>
  );
}

function Merge({ contact, onClose }: { contact: Contact; onClose: () => void }) {
  const [words, setWords] = useState("");
  const [later] = useDebouncedValue(words, 250);
  const [other, setOther] = useState<string | null>(null);
  const { data: found } = useFoundContacts(later);
  const merge = useMergeContact(contact.id);
  const options = found?.filter(({ id }) => id !== contact.id).map((one) => ({ value: one.id, label: lineOf(one) }));
  const done = () => {
    onClose();
    showDone("The two contacts are one.");
  };
  return (
    <Stack>
      <Text>
        The other contact's messages, orders, labels and phone numbers become those of {titleOf(contact)}. This cannot
        be undone.
      </Text>
      <Select
        label="The other contact"
        placeholder="Name or number"
        data={options ?? []}
        value={other}
        onChange={setOther}
        searchValue={words}
        onSearchChange={setWords}
        filter={({ options }) => options} // the gateway searches
        nothingFoundMessage="Nobody fits"
        searchable
        data-autofocus
      />
      <Problem>{merge.error ? inWords(merge.error) : null}</Problem>
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button
          color="red"
          disabled={!other}
          loading={merge.isPending}
          onClick={() => other && perform(merge, other, { onSuccess: done })}
        >
          Merge
        </Button>
      </Group>
    </Stack>
  );
}

function lineOf(contact: Contact): string {
  return contact.name && contact.phone ? `${contact.name} (+${contact.phone})` : titleOf(contact);
}
