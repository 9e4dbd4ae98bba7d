import { expect, test } from "vitest";
import { limitsOf, limitValues } from "./limits";

test("a form shows the limits that were set, and sends those that were edited", () => {
  const values = limitValues({ throughput: 20, tier: 0, window: 1 });
  expect(values).toEqual({ throughput: 20, tier: 0, pair_seconds: "", pair_burst: "" });
  expect(limitsOf(values, values)).toEqual({});
  expect(limitsOf({ ...values, throughput: 30, tier: "" }, values)).toEqual({ throughput: 30 });
});
