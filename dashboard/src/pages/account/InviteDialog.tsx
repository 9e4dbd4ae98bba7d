import { Radio, Stack, Text, TextInput } from "@mantine/core";
import { useFields } from "../../shared/fields";
import { perform } from "../../shared/mutations";
import { Form } from "../../shared/ui/Form";
import { FormDialog } from "../../shared/ui/FormDialog";
import { useClose } from "../../shared/ui/opening";
import { type UserLink, useInvite } from "./queries";
import { ROLES } from "./words";

type Props = { opened: boolean; onClose: () => void; onInvited: (link: UserLink) => void };

export function InviteDialog({ opened, onClose, onInvited }: Props) {
  return (
    <FormDialog opened={opened} onClose={onClose} title="Invite a person">
      <Fields onInvited={onInvited} onClose={onClose} />
    </FormDialog>
  );
}

function Fields({ onInvited, onClose }: Omit<Props, "opened">) {
  const invite = useInvite();
  const close = useClose(onClose);
  const { values, text, choice } = useFields({ email: "", name: "", role: "agent" }, invite.error);
  const done = (link: UserLink) => {
    close();
    onInvited(link);
  };
  const send = () => perform(invite, values, { onSuccess: done });
  return (
    <Form
      action="Create the link"
      busy={invite.isPending}
      error={invite.error}
      fields={["email", "name", "role"]}
      onSubmit={send}
    >
      <Text size="sm" c="dimmed">
        You get a link that works once. Send it to the person: the gateway sends no e-mail.
      </Text>
      <TextInput label="E-mail address" type="email" required data-autofocus {...text("email")} />
      <TextInput label="Name" description="The person can change it." maxLength={100} {...text("name")} />
      <RoleChoice {...choice("role")} />
    </Form>
  );
}

type ChoiceProps = { value: string; onChange: (role: string) => void; error?: string };

export function RoleChoice({ value, onChange, error }: ChoiceProps) {
  return (
    <Radio.Group label="Role" value={value} onChange={onChange} error={error}>
      <Stack gap="xs" mt="xs">
        {ROLES.map((role) => (
          <Radio key={role.value} value={role.value} label={role.label} description={role.description} />
        ))}
      </Stack>
    </Radio.Group>
  );
}
