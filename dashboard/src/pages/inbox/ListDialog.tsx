import { TextInput } from "@mantine/core";
import { useState } from "react";
import { FormDialog } from "../../shared/ui/FormDialog";
import { ChoicesForm } from "./ChoicesForm";
import type { SendRequest } from "./queries";

const EMPTY = { title: "", description: "" };

type Props = { opened: boolean; onClose: () => void; contact: string };

/** A message with a list to choose from. */
export function ListDialog({ opened, onClose, contact }: Props) {
  return (
    <FormDialog opened={opened} onClose={onClose} title="Message with a list">
      <Form contact={contact} onSent={onClose} />
    </FormDialog>
  );
}

function Form({ contact, onSent }: { contact: string; onSent: () => void }) {
  const [button, setButton] = useState("Choose");
  const [rows, setRows] = useState([EMPTY, EMPTY]);
  const filled = rows.filter(({ title }) => title.trim());
  const toRequest = (body: string): SendRequest => {
    const sent = filled.map(({ title, description }, index) => ({
      id: `row_${index + 1}`,
      title: title.trim(),
      description: description.trim() || null,
    }));
    return { contact, type: "list", body, button: button.trim(), sections: [{ rows: sent }] };
  };
  return (
    <ChoicesForm
      name="row"
      choices={rows}
      empty={EMPTY}
      most={10}
      longest={4096}
      ready={Boolean(button.trim()) && filled.length > 0}
      inputs={(row, change, number) => (
        <>
          <TextInput
            flex={1}
            label={`Row ${number}`}
            maxLength={24}
            value={row.title}
            onChange={(event) => change({ ...row, title: event.currentTarget.value })}
          />
          <TextInput
            flex={1}
            label="Description"
            maxLength={72}
            value={row.description}
            onChange={(event) => change({ ...row, description: event.currentTarget.value })}
          />
        </>
      )}
      toRequest={toRequest}
      onChange={setRows}
      onSent={onSent}
    >
      <TextInput
        label="Button that opens the list"
        maxLength={20}
        required
        value={button}
        onChange={(event) => setButton(event.currentTarget.value)}
      />
    </ChoicesForm>
  );
}
