import { Button, Select, Skeleton, Stack } from "@mantine/core";
import { IconTemplate } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { EmptyState } from "../../shared/ui/EmptyState";
import { FormDialog } from "../../shared/ui/FormDialog";
import { Loaded } from "../../shared/ui/Loaded";
import { useTemplates } from "./queries";
import { TemplateForm } from "./TemplateForm";

type Props = { opened: boolean; onClose: () => void; contact: string };

/** Chooses an approved template, fills in its values and sends it. */
export function TemplateDialog({ opened, onClose, contact }: Props) {
  return (
    <FormDialog opened={opened} onClose={onClose} title="Send a template" size="lg">
      {opened && <Choose contact={contact} onSent={onClose} />}
    </FormDialog>
  );
}

function Choose({ contact, onSent }: { contact: string; onSent: () => void }) {
  const [chosen, setChosen] = useState<string | null>(null);
  return (
    <Loaded query={useTemplates(true)} loading={<Skeleton height={160} aria-label="Loading templates" />}>
      {(templates) => {
        if (templates.length === 0) return <NoTemplate />;
        const template = templates.find(({ id }) => id === chosen);
        return (
          <Stack>
            <Select
              label="Template"
              placeholder="Choose a template"
              searchable
              data-autofocus
              nothingFoundMessage="No approved template has this name."
              data={templates.map(({ id, name, language }) => ({ value: id, label: `${name} (${language})` }))}
              value={chosen}
              onChange={setChosen}
            />
            {template && <TemplateForm key={template.id} template={template} contact={contact} onSent={onSent} />}
          </Stack>
        );
      }}
    </Loaded>
  );
}

function NoTemplate() {
  return (
    <EmptyState
      icon={IconTemplate}
      title="No approved template"
      action={
        <Button component={Link} to="/templates" variant="default">
          Open the page Templates
        </Button>
      }
    >
      The network has to approve a template before it can be sent.
    </EmptyState>
  );
}
