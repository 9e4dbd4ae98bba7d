/** The texts among the parameters of an address, by name; what is empty or no text is left out. */
export function readTexts<Name extends string>(
  search: Record<string, unknown>,
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const found: Partial<Record<Name, string>> = {};
  for (const name of names) {
    const value = search[name];
    if (typeof value === "string" && value) found[name] = value;
  }
  return found;
}
