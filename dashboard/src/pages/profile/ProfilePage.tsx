import { Badge, Button, Group, SegmentedControl, Stack, useMantineColorScheme } from "@mantine/core";
import { IconLogout2 } from "@tabler/icons-react";
import { perform } from "../../shared/mutations";
import { useSession, useSignOut } from "../../shared/session/queries";
import { inFull } from "../../shared/times";
import { showFailure } from "../../shared/ui/notices";
import { PageHeader } from "../../shared/ui/PageHeader";
import { Section } from "../../shared/ui/Section";
import { PasswordForm } from "./PasswordForm";
import { SecondFactor } from "./SecondFactor";

export function ProfilePage() {
  return (
    <>
      <PageHeader title="Your profile">Who you are here, and how you sign in.</PageHeader>
      <Stack gap="lg" maw={720}>
        <Person />
        <Section title="Password" text="Your other sessions end when you change it.">
          <PasswordForm />
        </Section>
        <Section
          title="Two-factor authentication"
          text="Besides your password, a code of an authenticator app on your phone. A stolen password is then not enough."
        >
          <SecondFactor />
        </Section>
        <Appearance />
        <Sessions />
      </Stack>
    </>
  );
}

const ROLES: Record<string, string> = {
  owner: "Owner: may do everything",
  agent: "Agent: may read and send",
  reader: "Reader: may read",
};

function Person() {
  const { user, account } = useSession();
  return (
    <Section title={user.name || user.email} text={user.name ? user.email : account.name}>
      <Group gap="xs">
        <Badge variant="light">{ROLES[user.role] ?? user.role}</Badge>
        <Badge variant="default">{account.name}</Badge>
      </Group>
    </Section>
  );
}

function Appearance() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Section title="Colours" text="Kept on this device.">
      <SegmentedControl
        value={colorScheme}
        onChange={(value) => setColorScheme(value as typeof colorScheme)}
        data={[
          { value: "auto", label: "As on the device" },
          { value: "light", label: "Light" },
          { value: "dark", label: "Dark" },
        ]}
        aria-label="Colours"
        w="fit-content"
        maw="100%"
      />
    </Section>
  );
}

function Sessions() {
  const session = useSession();
  const signOut = useSignOut();
  return (
    <Section title="Sessions" text={`You signed in on ${inFull(session.created_at)}.`}>
      <Group>
        <Button
          variant="default"
          leftSection={<IconLogout2 size={16} aria-hidden />}
          loading={signOut.isPending}
          onClick={() => perform(signOut, true, { onError: showFailure })}
        >
          Sign out everywhere
        </Button>
      </Group>
    </Section>
  );
}
