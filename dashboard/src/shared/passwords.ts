const SHORTEST = 10;
const LONGEST = 200;

export const PASSWORD_HINT = `At least ${SHORTEST} characters. Several words are easy to remember and hard to guess.`;

/** Says what is wrong with a new password; null if nothing is. */
export function passwordProblem(password: string): string | null {
  if (password.length < SHORTEST) return `Use at least ${SHORTEST} characters.`;
  return password.length > LONGEST ? `Use at most ${LONGEST} characters.` : null;
}
