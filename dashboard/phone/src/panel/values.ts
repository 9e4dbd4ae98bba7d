/** Reading what was typed into forms. */

/** Returns the digits of a phone number as people write it. */
export function phoneDigits(text: string): string {
  return text.replace(/[\s().+-]/g, "");
}

/** Returns a number, or nothing for an empty field; what is no number is an error for the person. */
export function numberOf(label: string, text: string): number | undefined {
  if (!text.trim()) return undefined;
  const value = Number(text);
  if (!Number.isFinite(value)) throw new Error(`${label} must be a number, not "${text}".`);
  return value;
}

/** Returns the value of a JSON text; the error says what is wrong and where. */
export function jsonOf(label: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${label} is not JSON: ${error instanceof Error ? error.message : error}`);
  }
}

/** Returns the words of a list with commas; nothing for an empty field. */
export function wordsOf(text: string): string[] | undefined {
  const words = text.split(/[\s,]+/).filter(Boolean);
  return words.length ? words : undefined;
}

/** Returns an object without the fields that are undefined or empty. */
export function compact(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== ""));
}
