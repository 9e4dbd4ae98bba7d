import { ApiProblem, inWords } from "../../shared/api/problem";

const WORDS: Record<string, string> = {
  invalid_credentials: "The e-mail address or the password is wrong.",
  invalid_code: "This code is not valid. Each code works once and changes every 30 seconds: use the newest one.",
};

/** Says why a sign-in failed; null when it only needs a code. `wait`: seconds until the next try is allowed. */
export function signInWords(error: unknown, wait: number): string | null {
  if (!(error instanceof ApiProblem)) return inWords(error);
  if (error.code === "code_required") return null;
  if (error.status === 429) {
    if (wait <= 0) return "You can try again now.";
    return `Too many attempts. You can try again in ${wait} ${wait === 1 ? "second" : "seconds"}.`;
  }
  return WORDS[error.code] ?? error.message;
}
