import { expect, test } from "vitest";
import { gatewayNow, noteGatewayTime } from "./gatewayTime";

const HOUR = 3_600_000;

function ahead(seen: number): number {
  noteGatewayTime(new Date(seen).toISOString());
  return Math.round((gatewayNow() - Date.now()) / HOUR);
}

test("the time is that of the gateway, unless the difference is small or unknown", () => {
  expect(ahead(Date.now() + 25 * HOUR)).toBe(25);
  expect(ahead(Date.now() - 2 * HOUR)).toBe(-2);
  noteGatewayTime(new Date(Date.now() + 3_000).toISOString());
  expect(gatewayNow() - Date.now()).toBeLessThan(1_000);
  noteGatewayTime("unknown");
  expect(gatewayNow() - Date.now()).toBeLessThan(1_000);
});
