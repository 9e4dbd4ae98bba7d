import { Center, Text, TextInput } from "@mantine/core";
import { isProblem } from "../../shared/api/problem";
import { useFields } from "../../shared/fields";
import { perform } from "../../shared/mutations";
import { CopyField } from "../../shared/ui/CopyField";
import { Form } from "../../shared/ui/Form";
import { QrCode } from "../../shared/ui/QrCode";
import { useConfirmTotp } from "./queries";

type Props = { secret: string; uri: string; onCodes: (codes: string[]) => void };

/** Shows the QR code for the authenticator app, and checks the first code that the app shows. */
export function ScanStep({ secret, uri, onCodes }: Props) {
  const { values, text } = useFields({ code: "" });
  const confirm = useConfirmTotp();
  const wrong = isProblem(confirm.error, "invalid_code");
  const submit = () => perform(confirm, values.code.trim(), { onSuccess: (data) => onCodes(data.recovery_codes) });
  return (
    <Form action="Turn on" busy={confirm.isPending} error={wrong ? null : confirm.error} onSubmit={submit}>
      <Text size="sm">Scan this with your authenticator app.</Text>
      <Center>
        <QrCode value={uri} label="QR code for your authenticator app" />
      </Center>
      <Text size="sm">No camera? Type this key into the app:</Text>
      <CopyField label="Key for the authenticator app" value={secret} />
      <TextInput
        label="Code that the app shows"
        {...text("code")}
        error={wrong && "This code is not valid. Wait for the next one, and check the clock of your phone."}
        autoComplete="one-time-code"
        inputMode="numeric"
        required
      />
    </Form>
  );
}
