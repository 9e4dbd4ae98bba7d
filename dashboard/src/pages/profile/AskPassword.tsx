import { PasswordInput } from "@mantine/core";
import { isProblem } from "../../shared/api/problem";
import { useFields } from "../../shared/fields";
import { Form } from "../../shared/ui/Form";

type Props = { action: string; busy: boolean; error: unknown; onPassword: (password: string) => void };

/** Asks for the password again before something that protects the account is changed. */
export function AskPassword({ action, busy, error, onPassword }: Props) {
  const { values, text } = useFields({ password: "" });
  const wrong = isProblem(error, "invalid_credentials");
  return (
    <Form action={action} busy={busy} error={wrong ? null : error} onSubmit={() => onPassword(values.password)}>
      <PasswordInput
        label="Your password"
        {...text("password")}
        error={wrong && "This is not your password."}
        autoComplete="current-password"
        required
        data-autofocus
      />
    </Form>
  );
}
