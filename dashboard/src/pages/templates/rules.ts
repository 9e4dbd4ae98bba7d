import { variablesOf } from "./parts";

/**
 * What is wrong with the variables of a text, as far as it can be seen while typing. Lengths and counts are left to
 * the gateway, which knows the network's numbers.
 */
export function variableProblem(text: string, { mayTouchEnds }: { mayTouchEnds: boolean }): string | null {
  const rest = text.replace(/\{\{[^{}]*\}\}/g, "");
  if (rest.includes("{{") || rest.includes("}}")) return "A variable is not complete. Write {{1}}.";
  const names = variablesOf(text);
  if (names.some((name, i) => name !== String(i + 1))) return "Number the variables {{1}}, {{2}}, … without a gap.";
  if (/\}\}\s*\{\{/.test(text)) return "Put words between two variables.";
  const bare = text.trim();
  if (!mayTouchEnds && (bare.startsWith("{{") || bare.endsWith("}}"))) {
    return "Put words before the first and after the last variable.";
  }
  return null;
}
