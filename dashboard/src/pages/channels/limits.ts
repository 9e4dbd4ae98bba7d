export type LimitValues = {
  throughput: number | "";
  tier: number | "";
  pair_seconds: number | "";
  pair_burst: number | "";
};

const NAMES = ["throughput", "tier", "pair_seconds", "pair_burst"] as const;

/** The limits of a channel in a form; empty where none was set. */
export function limitValues(limits: Record<string, unknown>): LimitValues {
  const value = (name: string) => (typeof limits[name] === "number" ? (limits[name] as number) : "");
  return {
    throughput: value("throughput"),
    tier: value("tier"),
    pair_seconds: value("pair_seconds"),
    pair_burst: value("pair_burst"),
  };
}

/** The limits to set: those that were edited. What is empty stays as it is. */
export function limitsOf(values: LimitValues, before: LimitValues): Record<string, number> {
  const found: Record<string, number> = {};
  for (const name of NAMES) {
    const value = values[name];
    if (value !== "" && value !== before[name]) found[name] = value;
  }
  return found;
}
