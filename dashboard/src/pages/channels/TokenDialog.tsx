import { PasswordInput, Text, TextInput } from "@mantine/core";
import type { Channel } from "../../shared/channels";
import { useFields } from "../../shared/fields";
import { perform } from "../../shared/mutations";
import { Form } from "../../shared/ui/Form";
import { FormDialog } from "../../shared/ui/FormDialog";
import { showDone } from "../../shared/ui/notices";
import { useClose } from "../../shared/ui/opening";
import { useChangeChannel } from "./queries";

type Props = { channel: Channel; opened: boolean; onClose: () => void };

/** Replaces the access token of an official number, and the app secret if it changed too. */
export function TokenDialog({ channel, opened, onClose }: Props) {
  return (
    <FormDialog opened={opened} onClose={onClose} title="New access token">
      <TokenForm channel={channel} onDone={onClose} />
    </FormDialog>
  );
}

function TokenForm({ channel, onDone }: { channel: Channel; onDone: () => void }) {
  const change = useChangeChannel(channel.id);
  const { values, text } = useFields({ token: "", app_secret: "", waba_id: "" }, change.error);
  const close = useClose(onDone);
  const done = () => {
    close();
    showDone("The new token works.");
  };
  const given = (value: string) => value.trim() || null;
  const submit = () => {
    const { token, app_secret, waba_id } = values;
    const body = { token: given(token), app_secret: given(app_secret), waba_id: given(waba_id) };
    perform(change, body, { onSuccess: done });
  };
  return (
    <Form
      action="Test and save"
      busy={change.isPending}
      error={change.error}
      fields={["token", "app_secret", "waba_id"]}
      onSubmit={submit}
    >
      <Text size="sm">Messages that wait for a valid token are sent afterwards.</Text>
      <PasswordInput label="Access token" autoComplete="off" {...text("token")} required data-autofocus />
      <PasswordInput
        label="App secret"
        description="Empty: it stays as it is."
        autoComplete="off"
        {...text("app_secret")}
      />
      <TextInput
        label="WhatsApp Business account id"
        description="Empty: it stays as it is. Templates need it."
        inputMode="numeric"
        autoComplete="off"
        {...text("waba_id")}
      />
    </Form>
  );
}
