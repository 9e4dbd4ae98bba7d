import { Anchor, Button, Group, PasswordInput, Stack, Stepper, Text, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { inWords } from "../../shared/api/problem";
import { isSame, useFields } from "../../shared/fields";
import { perform } from "../../shared/mutations";
import { Form } from "../../shared/ui/Form";
import { Problem } from "../../shared/ui/Problem";
import { Unsaved } from "../../shared/ui/Unsaved";
import { CallbackFields } from "./CallbackFields";
import { CredentialChecks } from "./CredentialChecks";
import { channelOf, credentialsOf, NO_VALUES, type OfficialValues } from "./form";
import { type CreatedChannel, type CredentialTest, useCreateChannel, useTestCredentials } from "./queries";

/** Adds an official number in steps: its credentials, their test, and what the app at the network has to know. */
export function OfficialForm() {
  const [values, setValues] = useState<OfficialValues>(NO_VALUES);
  const [tested, setTested] = useState<CredentialTest | null>(null);
  const create = useCreateChannel();
  const step = create.data ? 2 : tested ? 1 : 0;
  const back = () => {
    setTested(null);
    create.reset();
  };
  return (
    <div className="surface">
      <Stepper active={step} p={{ base: "md", sm: "lg" }} size="sm" iconSize={30} contentPadding="lg">
        <Stepper.Step label="Credentials">
          <CredentialForm initial={values} onValues={setValues} onTested={setTested} />
        </Stepper.Step>
        <Stepper.Step label="Test">
          <Unsaved edited />
          {tested && (
            <Tested
              test={tested}
              busy={create.isPending}
              error={create.error}
              onBack={back}
              onCreate={() => create.mutate(channelOf(values, tested))}
            />
          )}
        </Stepper.Step>
        <Stepper.Step label="Callbacks">{create.data && <Callbacks channel={create.data} />}</Stepper.Step>
      </Stepper>
    </div>
  );
}

type FormProps = {
  initial: OfficialValues;
  onValues: (values: OfficialValues) => void;
  onTested: (test: CredentialTest) => void;
};

function CredentialForm({ initial, onValues, onTested }: FormProps) {
  const run = useTestCredentials();
  const { values, text } = useFields(initial, run.error);
  const isEdited = !isSame(values, NO_VALUES);
  const submit = () => {
    onValues(values);
    perform(run, credentialsOf(values), { onSuccess: onTested });
  };
  return (
    <Form
      action="Test"
      busy={run.isPending}
      error={run.error}
      fields={["phone_number_id", "waba_id", "token", "app_secret"]}
      onSubmit={submit}
    >
      <Text size="sm" c="dimmed">
        You find the two ids under WhatsApp → API setup of your app, and the app secret in its basic settings.{" "}
        <Anchor href="/docs/how-to/connect-an-official-number" target="_blank" rel="noopener" underline="always">
          How to connect an official number
        </Anchor>
      </Text>
      <Unsaved edited={isEdited} />
      <TextInput label="Name" description="Empty: the verified name of the number." {...text("name")} />
      <TextInput
        label="Phone number id"
        description="The id at the network, not the phone number."
        inputMode="numeric"
        autoComplete="off"
        {...text("phone_number_id")}
        required
      />
      <TextInput
        label="WhatsApp Business account id"
        description="Templates need it."
        inputMode="numeric"
        autoComplete="off"
        {...text("waba_id")}
      />
      <PasswordInput
        label="Access token"
        description="A permanent one, of a system user. It is kept encrypted."
        autoComplete="off"
        {...text("token")}
        required
      />
      <PasswordInput
        label="App secret"
        description="Proves that callbacks come from the network."
        autoComplete="off"
        {...text("app_secret")}
        required
      />
    </Form>
  );
}

type TestedProps = { test: CredentialTest; busy: boolean; error: unknown; onBack: () => void; onCreate: () => void };

function Tested({ test, busy, error, onBack, onCreate }: TestedProps) {
  return (
    <Stack>
      <Text fw={600} role="status">
        {test.ok ? "The credentials work." : "The number cannot be added with these credentials."}
      </Text>
      <CredentialChecks checks={test.checks} />
      <Problem>{error ? inWords(error) : null}</Problem>
      <Group justify="flex-end">
        <Button variant="default" onClick={onBack}>
          Change the credentials
        </Button>
        {test.ok && (
          <Button onClick={onCreate} loading={busy}>
            Add the number
          </Button>
        )}
      </Group>
    </Stack>
  );
}

function Callbacks({ channel }: { channel: CreatedChannel }) {
  const navigate = useNavigate();
  return (
    <Stack>
      <Text fw={600} role="status">
        {channel.name} is added. One step is left: the app at the network must know where to send messages and statuses.
      </Text>
      <CallbackFields callbackUrl={channel.callback_url ?? ""} verifyToken={channel.verify_token ?? ""} />
      <Group justify="flex-end">
        <Button onClick={() => void navigate({ to: "/channels/$channelId", params: { channelId: channel.id } })}>
          Done
        </Button>
      </Group>
    </Stack>
  );
}
