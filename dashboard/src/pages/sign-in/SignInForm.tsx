import { Button, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { ApiProblem, isProblem } from "../../shared/api/problem";
import { perform } from "../../shared/mutations";
import { useSignIn } from "../../shared/session/queries";
import { Problem } from "../../shared/ui/Problem";
import { useCountdown } from "../../shared/useCountdown";
import { signInWords } from "./words";

/** Asks for the password and, where the person has set one up, for the code of the authenticator app. */
export function SignInForm({ email: given = "" }: { email?: string }) {
  const [email, setEmail] = useState(given);
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [asksCode, setAsksCode] = useState(false);
  const [wait, startWait] = useCountdown();
  const signIn = useSignIn();

  const submit = (event: FormEvent) => {
    event.preventDefault();
    perform(signIn, asksCode ? { email, password, code: code.trim() } : { email, password }, {
      onError: (error) => {
        if (isProblem(error, "code_required")) setAsksCode(true);
        if (isProblem(error, "invalid_code")) setCode("");
        if (error instanceof ApiProblem && error.status === 429) startWait(error.retryAfter ?? 60);
      },
    });
  };
  const back = () => {
    setAsksCode(false);
    setCode("");
    signIn.reset();
  };

  return (
    <form onSubmit={submit}>
      <Stack>
        <Problem>{signIn.error ? signInWords(signIn.error, wait) : null}</Problem>
        {asksCode ? (
          <TextInput
            key="code"
            label="Code"
            description="Six digits from your authenticator app, or one of your recovery codes."
            value={code}
            onChange={(event) => setCode(event.currentTarget.value)}
            autoComplete="one-time-code"
            autoCapitalize="off"
            spellCheck={false}
            required
            autoFocus
          />
        ) : (
          <>
            <TextInput
              label="E-mail address"
              type="email"
              value={email}
              onChange={(event) => setEmail(event.currentTarget.value)}
              autoComplete="username"
              readOnly={given !== ""}
              required
              autoFocus={given === ""}
            />
            <PasswordInput
              label="Password"
              value={password}
              onChange={(event) => setPassword(event.currentTarget.value)}
              autoComplete="current-password"
              required
              autoFocus={given !== ""}
            />
          </>
        )}
        <Button type="submit" loading={signIn.isPending} disabled={wait > 0} fullWidth mt="xs">
          Sign in
        </Button>
        {asksCode ? (
          <Button variant="subtle" color="gray" onClick={back}>
            Back
          </Button>
        ) : (
          <Text size="xs" c="dimmed" ta="center">
            Forgot your password? Ask an owner of the account for a link to set a new one.
          </Text>
        )}
      </Stack>
    </form>
  );
}
