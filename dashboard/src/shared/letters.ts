/** A height in pixels that grows with the letters that a person has chosen for the browser. */
export function remToPixels(rem: number): number {
  return rem * Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
}
