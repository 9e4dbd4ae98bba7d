import { TextInput } from "@mantine/core";
import { useState } from "react";
import { FormDialog } from "../../shared/ui/FormDialog";
import { ChoicesForm } from "./ChoicesForm";

type Props = { opened: boolean; onClose: () => void; contact: string };

/** A message with up to three buttons to answer with. */
export function ButtonsDialog({ opened, onClose, contact }: Props) {
  return (
    <FormDialog opened={opened} onClose={onClose} title="Message with buttons">
      <Form contact={contact} onSent={onClose} />
    </FormDialog>
  );
}

function Form({ contact, onSent }: { contact: string; onSent: () => void }) {
  const [titles, setTitles] = useState(["", ""]);
  const filled = titles.map((title) => title.trim()).filter(Boolean);
  const twice = new Set(filled).size < filled.length;
  return (
    <ChoicesForm
      name="button"
      choices={titles}
      empty=""
      most={3}
      longest={1024}
      ready={filled.length > 0 && !twice}
      problem={twice ? "Two buttons have the same text." : null}
      inputs={(title, change, number) => (
        <TextInput
          flex={1}
          label={`Button ${number}`}
          maxLength={20}
          value={title}
          onChange={(event) => change(event.currentTarget.value)}
        />
      )}
      toRequest={(body) => {
        const buttons = filled.map((title, index) => ({ id: `button_${index + 1}`, title }));
        return { contact, type: "buttons", body, buttons };
      }}
      onChange={setTitles}
      onSent={onSent}
    />
  );
}
