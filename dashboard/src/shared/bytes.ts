const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

/** "512 B", "47.1 KiB", "2 GiB". */
export function bytes(count: number): string {
  let amount = count;
  let unit = 0;
  while (amount >= 1024 && unit < UNITS.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  return `${Number(amount.toFixed(unit ? 1 : 0))} ${UNITS[unit]}`;
}
