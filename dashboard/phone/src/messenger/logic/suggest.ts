/** Return a phone number that nobody in the list has. */
export function freeNumber(taken: string[]): string {
  const known = new Set(taken);
  let number = 5_511_999_990_001;
  while (known.has(String(number))) number += 1;
  return String(number);
}
