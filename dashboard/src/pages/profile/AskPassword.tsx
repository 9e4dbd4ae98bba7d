import { Button, Group, PasswordInput, Stack } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { inWords, isProblem } from "../../shared/api/problem";
import { Problem } from "../../shared/ui/Problem";

type Props = { action: string; busy: boolean; error: unknown; onPassword: (password: string) => void };

/** Asks for the password again before something that protects the account is changed. */
export function AskPassword({ action, busy, error, onPassword }: Props) {
  const [password, setPassword] = useState("");
  const wrong = isProblem(error, "invalid_credentials");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onPassword(password);
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <PasswordInput
          label="Your password"
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          error={wrong && "This is not your password."}
          autoComplete="current-password"
          required
          data-autofocus
        />
        <Problem>{error && !wrong ? inWords(error) : null}</Problem>
        <Group justify="flex-end">
          <Button type="submit" loading={busy}>
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
