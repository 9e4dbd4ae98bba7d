import { Center, Paper, Stack, Text, Title } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import type { ReactNode } from "react";
import { Logo } from "../../shared/ui/Logo";
import { SignInForm } from "./SignInForm";

export function SignInPage() {
  useDocumentTitle("Sign in – Gatepost");
  return (
    <Frame title="Sign in" text="Welcome back. Use the e-mail address that you were invited with.">
      <SignInForm />
    </Frame>
  );
}

/** A page without navigation, for people who are not signed in. */
export function Frame({ title, text, children }: { title: string; text: string; children: ReactNode }) {
  return (
    <Center component="main" mih="100vh" p="md">
      <Stack w="100%" maw={400} gap="lg">
        <Center>
          <Logo size={34} />
        </Center>
        <Paper className="surface" p={{ base: "lg", xs: "xl" }} shadow="sm">
          <Stack gap="lg">
            <Stack gap={4}>
              <Title order={1} size="h3">
                {title}
              </Title>
              <Text c="dimmed" size="sm">
                {text}
              </Text>
            </Stack>
            {children}
          </Stack>
        </Paper>
      </Stack>
    </Center>
  );
}
