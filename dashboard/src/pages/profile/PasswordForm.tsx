import { Button, Group, PasswordInput, Stack } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { inWords, isProblem } from "../../shared/api/problem";
import { perform } from "../../shared/mutations";
import { PASSWORD_HINT, passwordProblem } from "../../shared/passwords";
import { showDone } from "../../shared/ui/notices";
import { Problem } from "../../shared/ui/Problem";
import { useChangePassword } from "./queries";

export function PasswordForm() {
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const [tried, setTried] = useState(false);
  const change = useChangePassword();
  const problem = passwordProblem(next);
  const wrong = isProblem(change.error, "invalid_credentials");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (problem) return;
    perform(
      change,
      { current_password: current, new_password: next },
      {
        onSuccess: () => {
          setCurrent("");
          setNext("");
          setTried(false);
          showDone("Your password is changed.");
        },
      },
    );
  };
  return (
    <form onSubmit={submit}>
      <Stack maw={400}>
        <PasswordInput
          label="Current password"
          value={current}
          onChange={(event) => setCurrent(event.currentTarget.value)}
          error={wrong && "This is not your current password."}
          autoComplete="current-password"
          required
        />
        <PasswordInput
          label="New password"
          description={PASSWORD_HINT}
          value={next}
          onChange={(event) => setNext(event.currentTarget.value)}
          error={tried && problem}
          autoComplete="new-password"
          required
        />
        <Problem>{change.error && !wrong ? inWords(change.error) : null}</Problem>
        <Group>
          <Button type="submit" loading={change.isPending}>
            Change the password
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
