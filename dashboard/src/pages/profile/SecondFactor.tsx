import { Badge, Button, Group, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { perform } from "../../shared/mutations";
import { useSession } from "../../shared/session/queries";
import { Dialog } from "../../shared/ui/Dialog";
import { FormDialog } from "../../shared/ui/FormDialog";
import { showDone } from "../../shared/ui/notices";
import { useClose } from "../../shared/ui/opening";
import { AskPassword } from "./AskPassword";
import { useBeginTotp, useNewRecoveryCodes, useTurnOffTotp } from "./queries";
import { RecoveryCodes } from "./RecoveryCodes";
import { ScanStep } from "./ScanStep";

type Opened = "set-up" | "codes" | "off" | null;

/** Sets up the code of an authenticator app, makes new recovery codes, or turns it off. */
export function SecondFactor() {
  const { user } = useSession();
  const [dialog, setDialog] = useState<Opened>(null);
  const [codes, setCodes] = useState<string[] | null>(null);
  const close = () => setDialog(null);
  const show = (made: string[]) => {
    close();
    setCodes(made);
  };
  return (
    <>
      {user.totp ? (
        <Group>
          <Badge color="teal" variant="light" size="lg">
            On
          </Badge>
          <Button variant="default" onClick={() => setDialog("codes")}>
            New recovery codes
          </Button>
          <Button variant="subtle" color="red" onClick={() => setDialog("off")}>
            Turn off
          </Button>
        </Group>
      ) : (
        <Group>
          <Button onClick={() => setDialog("set-up")}>Set up</Button>
        </Group>
      )}
      <FormDialog opened={dialog === "set-up"} onClose={close} title="Set up the code">
        <SetUp onCodes={show} />
      </FormDialog>
      <FormDialog opened={dialog === "codes"} onClose={close} title="New recovery codes">
        <NewCodes onCodes={show} />
      </FormDialog>
      <Dialog opened={dialog === "off"} onClose={close} title="Turn off the code">
        <TurnOff onDone={close} />
      </Dialog>
      <RecoveryCodes codes={codes} onDone={() => setCodes(null)} />
    </>
  );
}

type StepProps = { onCodes: (codes: string[]) => void };

function SetUp({ onCodes }: StepProps) {
  const begin = useBeginTotp();
  if (begin.data) return <ScanStep secret={begin.data.secret} uri={begin.data.uri} onCodes={onCodes} />;
  return <AskPassword action="Continue" busy={begin.isPending} error={begin.error} onPassword={begin.mutate} />;
}

function NewCodes({ onCodes }: StepProps) {
  const make = useNewRecoveryCodes();
  const submit = (password: string) => perform(make, password, { onSuccess: (made) => onCodes(made.recovery_codes) });
  return (
    <Stack>
      <Text size="sm">The recovery codes that you have now stop working.</Text>
      <AskPassword action="Make new codes" busy={make.isPending} error={make.error} onPassword={submit} />
    </Stack>
  );
}

function TurnOff({ onDone }: { onDone: () => void }) {
  const turnOff = useTurnOffTotp();
  const close = useClose(onDone);
  const confirm = (password: string) =>
    perform(turnOff, password, {
      onSuccess: () => {
        showDone("Signing in needs only your password now.");
        close();
      },
    });
  return (
    <Stack>
      <Text size="sm">Your password alone will be enough to sign in.</Text>
      <AskPassword action="Turn off" busy={turnOff.isPending} error={turnOff.error} onPassword={confirm} />
    </Stack>
  );
}
