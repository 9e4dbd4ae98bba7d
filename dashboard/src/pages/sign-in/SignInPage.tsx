import { Center, Paper, Stack } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import type { ReactNode } from "react";
import { Logo } from "../../shared/ui/Logo";
import { TitleAndText } from "../../shared/ui/Section";
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
            <TitleAndText order={1} title={title} text={text} />
            {children}
          </Stack>
        </Paper>
      </Stack>
    </Center>
  );
}
