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

/**
 * A reader of an address whose result is all that a page gets, besides the channel. Without it the router keeps each
 * parameter that a reader leaves out because it makes no sense.
 */
export function only<Search extends object>(read: (search: Record<string, unknown>) => Search) {
  return (search: Record<string, unknown>): Search => {
    const names = Object.keys(search).filter((name) => name !== "channel");
    return { ...(Object.fromEntries(names.map((name) => [name, undefined])) as object), ...read(search) };
  };
}
