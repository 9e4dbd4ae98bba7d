import { Anchor, Button, PasswordInput, Skeleton, Stack, Text, TextInput } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { ApiProblem, inWords, isProblem } from "../../shared/api/problem";
import { perform } from "../../shared/mutations";
import { PASSWORD_HINT, passwordProblem } from "../../shared/passwords";
import { inFull } from "../../shared/times";
import { showDone } from "../../shared/ui/notices";
import { Problem } from "../../shared/ui/Problem";
import { Frame } from "../sign-in/SignInPage";
import { useLink, useTakeLink } from "./queries";

/** An invitation, or a link to set a new password. */
export function LinkPage() {
  useDocumentTitle("Set a password – Gatepost");
  const { token } = useParams({ from: "/link/$token" });
  const { data, error, refetch } = useLink(token);
  if (isProblem(error, "link_not_valid")) {
    return (
      <Frame title="This link does not work any more" text="It was used before, or its time is over.">
        <Text size="sm">Ask an owner of the account for a new link.</Text>
        <Anchor component={Link} to="/" size="sm">
          Sign in
        </Anchor>
      </Frame>
    );
  }
  if (error) {
    return (
      <Frame title="This did not work" text={inWords(error)}>
        <Button variant="default" onClick={() => void refetch()}>
          Try again
        </Button>
      </Frame>
    );
  }
  if (!data) {
    return (
      <Frame title="One moment" text="The link is being checked.">
        <Skeleton height={120} />
      </Frame>
    );
  }
  const invited = data.purpose === "invitation";
  return (
    <Frame
      title={invited ? `Join ${data.account_name}` : "Set a new password"}
      text={
        invited ? `You were invited as ${data.role}.` : "It replaces your old password, and ends all other sessions."
      }
    >
      <PasswordForm token={token} email={data.email} invited={invited} expires={data.expires_at} />
    </Frame>
  );
}

type FormProps = { token: string; email: string; invited: boolean; expires: string };

function PasswordForm({ token, email, invited, expires }: FormProps) {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [tried, setTried] = useState(false);
  const take = useTakeLink(token);
  const navigate = useNavigate();
  const problem = passwordProblem(password);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (problem) return;
    perform(take, invited && name.trim() ? { password, name: name.trim() } : { password }, {
      onSuccess: (session) => {
        if (!session) showDone("Your password is set. Sign in with it and with your code.");
        void navigate({ to: "/" });
      },
    });
  };
  const refused = take.error instanceof ApiProblem ? take.error.field("password") : undefined;
  return (
    <form onSubmit={submit}>
      <Stack>
        <Problem>{take.error ? inWords(take.error) : null}</Problem>
        <TextInput label="E-mail address" value={email} readOnly autoComplete="username" />
        {invited && (
          <TextInput
            label="Your name"
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            autoComplete="name"
            maxLength={100}
          />
        )}
        <PasswordInput
          label="New password"
          description={PASSWORD_HINT}
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          error={(tried && problem) || refused}
          autoComplete="new-password"
          required
        />
        <Button type="submit" loading={take.isPending} mt="xs">
          {invited ? "Join" : "Set the password"}
        </Button>
        <Text size="xs" c="dimmed" ta="center">
          This link works once, until {inFull(expires)}.
        </Text>
      </Stack>
    </form>
  );
}
