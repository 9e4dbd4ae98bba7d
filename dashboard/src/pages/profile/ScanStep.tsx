import { Button, Center, Group, Stack, Text, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { inWords, isProblem } from "../../shared/api/problem";
import { CopyField } from "../../shared/ui/CopyField";
import { Problem } from "../../shared/ui/Problem";
import { QrCode } from "../../shared/ui/QrCode";
import { useConfirmTotp } from "./queries";

type Props = { secret: string; uri: string; onCodes: (codes: string[]) => void };

/** Shows the QR code for the authenticator app, and checks the first code that the app shows. */
export function ScanStep({ secret, uri, onCodes }: Props) {
  const [code, setCode] = useState("");
  const confirm = useConfirmTotp();
  const wrong = isProblem(confirm.error, "invalid_code");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    confirm.mutate(code.trim(), { onSuccess: (data) => onCodes(data.recovery_codes) });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Text size="sm">Scan this with your authenticator app.</Text>
        <Center>
          <QrCode value={uri} label="QR code for your authenticator app" />
        </Center>
        <Text size="sm">No camera? Type this key into the app:</Text>
        <CopyField label="Key for the authenticator app" value={secret} />
        <TextInput
          label="Code that the app shows"
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
          error={wrong && "This code is not valid. Wait for the next one, and check the clock of your phone."}
          autoComplete="one-time-code"
          inputMode="numeric"
          required
        />
        <Problem>{confirm.error && !wrong ? inWords(confirm.error) : null}</Problem>
        <Group justify="flex-end">
          <Button type="submit" loading={confirm.isPending}>
            Turn on
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
