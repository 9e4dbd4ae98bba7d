import { Button, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { Channel } from "../../shared/channels";
import { perform } from "../../shared/mutations";
import { Dialog } from "../../shared/ui/Dialog";
import { Form } from "../../shared/ui/Form";
import { showDone } from "../../shared/ui/notices";
import { Section } from "../../shared/ui/Section";
import { useDeleteChannel } from "./queries";

export function DeleteChannel({ channel }: { channel: Channel }) {
  const [opened, dialog] = useDisclosure();
  return (
    <Section
      title="Delete the channel"
      text="Its keys, webhooks, contacts, conversations and queued messages are deleted with it."
      actions={
        <Button color="red" variant="light" onClick={dialog.open}>
          Delete
        </Button>
      }
    >
      <Dialog opened={opened} onClose={dialog.close} title={`Delete ${channel.name}`}>
        <Confirm channel={channel} />
      </Dialog>
    </Section>
  );
}

function Confirm({ channel }: { channel: Channel }) {
  const remove = useDeleteChannel(channel.id);
  const navigate = useNavigate();
  const [typed, setTyped] = useState("");
  const [wrong, setWrong] = useState(false);
  const submit = () => {
    setWrong(typed.trim() !== channel.phone);
    if (typed.trim() !== channel.phone) return;
    perform(remove, undefined, {
      onSuccess: () => {
        showDone("The channel is deleted.");
        void navigate({ to: "/channels", search: { channel: undefined } });
      },
    });
  };
  return (
    <Form action="Delete the channel" color="red" busy={remove.isPending} error={remove.error} onSubmit={submit}>
      <Text size="sm">
        This cannot be undone. Type the number <b>{channel.phone}</b> to confirm.
      </Text>
      <TextInput
        label="Number"
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
        error={wrong && "This is not the number of the channel."}
        autoComplete="off"
        required
        data-autofocus
      />
    </Form>
  );
}
