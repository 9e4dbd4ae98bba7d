import { Autocomplete, Button, Group, Stack, Text } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useState } from "react";
import { inWords } from "../../shared/api/problem";
import { perform } from "../../shared/mutations";
import { Dialog } from "../../shared/ui/Dialog";
import { showDone } from "../../shared/ui/notices";
import { useClose } from "../../shared/ui/opening";
import { Problem } from "../../shared/ui/Problem";
import { visibleName } from "../../shared/visibleName";
import { titleOf } from "./form";
import { type Contact, useFoundContacts, useMergeContact } from "./queries";

type Option = { value: string; label: string };
type Props = { contact: Contact; opened: boolean; onClose: () => void };

/** Makes one contact of two. */
export function MergeDialog({ contact, opened, onClose }: Props) {
  return (
    <Dialog opened={opened} onClose={onClose} title="Merge with another contact">
      <Merge contact={contact} onClose={onClose} />
    </Dialog>
  );
}

function Merge({ contact, onClose }: { contact: Contact; onClose: () => void }) {
  const [words, setWords] = useState("");
  const [later] = useDebouncedValue(words, 250);
  const [chosen, setChosen] = useState<Option | null>(null);
  const other = chosen?.label === words ? chosen.value : null; // what is typed afterwards is another choice
  const { data: found } = useFoundContacts(later);
  const merge = useMergeContact(contact.id);
  const options = (found ?? [])
    .filter(({ id }) => id !== contact.id)
    .map((one): Option => ({ value: one.id, label: lineOf(one) }));
  const nobody = words !== "" && !other && words === later && found && options.length === 0;
  const close = useClose(onClose);
  const done = () => {
    close();
    showDone("The two contacts are one.");
  };
  return (
    <Stack>
      <Text>
        The other contact's messages, orders, labels and phone numbers become those of {titleOf(contact)}. This cannot
        be undone.
      </Text>
      <Autocomplete
        label="The other contact"
        placeholder="Name or number"
        data={options}
        value={words}
        onChange={setWords}
        onOptionSubmit={(id) => setChosen(options.find(({ value }) => value === id) ?? null)}
        filter={({ options }) => options} // the gateway searches
        error={nobody ? "Nobody fits." : undefined}
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
  return visibleName(contact.name) && contact.phone ? `${contact.name} (+${contact.phone})` : titleOf(contact);
}
