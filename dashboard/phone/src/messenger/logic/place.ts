/** Coordinates that a person types. */

/** Return a coordinate within ±`most` degrees, or null. A comma is accepted for the point. */
export function degrees(text: string, most: number): number | null {
  const plain = text.trim().replace(",", ".");
  if (!/^[+-]?\d{1,3}(\.\d+)?$/.test(plain)) return null;
  const value = Number(plain);
  return Math.abs(value) <= most ? value : null;
}
