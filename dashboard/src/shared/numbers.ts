const whole = new Intl.NumberFormat();
const compact = new Intl.NumberFormat(undefined, { notation: "compact" });

/** "12,000", as the viewer writes numbers. */
export function number(value: number): string {
  return whole.format(value);
}

/** "12K", for the axis of a plot; numbers below 10,000 in full. */
export function shortNumber(value: number): string {
  return value < 10_000 ? whole.format(value) : compact.format(value);
}
