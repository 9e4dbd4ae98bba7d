import { TextInput } from "@mantine/core";
import type { Channel } from "../../shared/channels";
import { useFields } from "../../shared/fields";
import { perform } from "../../shared/mutations";
import { Form } from "../../shared/ui/Form";
import { showDone } from "../../shared/ui/notices";
import { Section } from "../../shared/ui/Section";
import { useChangeChannel } from "./queries";

export function NameForm({ channel }: { channel: Channel }) {
  const change = useChangeChannel(channel.id);
  const { values, text } = useFields({ name: channel.name }, change.error);
  const submit = () =>
    perform(change, { name: values.name.trim() }, { onSuccess: () => showDone("The channel is renamed.") });
  return (
    <Section title="Name" text="Only you and your colleagues see it.">
      <Form action="Rename" busy={change.isPending} error={change.error} fields={["name"]} onSubmit={submit}>
        <TextInput aria-label="Name of the channel" maxLength={100} {...text("name")} required />
      </Form>
    </Section>
  );
}
