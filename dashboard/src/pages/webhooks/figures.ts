import { duration } from "../../shared/times";
import type { WebhookHour } from "./queries";

export type Health = { attempts: number; delivered: number; failed: number; slowest: number | null };

/** What happened at an endpoint in all hours together. */
export function healthOf(hours: WebhookHour[]): Health {
  const delivered = hours.reduce((sum, hour) => sum + hour.delivered, 0);
  const failed = hours.reduce((sum, hour) => sum + hour.failed, 0);
  const slowest = hours.reduce<number | null>(
    (most, { p95_ms }) => (p95_ms === null ? most : Math.max(most ?? 0, p95_ms)),
    null,
  );
  return { attempts: delivered + failed, delivered, failed, slowest };
}

/** "98.3 % of 120 attempts delivered". Rounded down, so that 100 % means that none failed. */
export function healthWords({ attempts, delivered }: Health): string {
  if (attempts === 0) return "No attempts in the last 24 hours";
  const percent = Math.floor((1000 * delivered) / attempts) / 10;
  const count = attempts === 1 ? "1 attempt" : `${attempts.toLocaleString()} attempts`;
  return `${percent.toLocaleString()} % of ${count} delivered in the last 24 hours`;
}

/** "12 delivered, 1 failed; 95 % within 80 ms". */
export function hourWords({ delivered, failed, p95_ms, complete }: WebhookHour): string {
  if (delivered + failed === 0) return "No attempts";
  const counts = `${delivered.toLocaleString()} delivered, ${failed.toLocaleString()} failed`;
  const speed = p95_ms === null ? "" : `; 95 % within ${duration(p95_ms)}`;
  return counts + speed + (complete ? "" : " (newest attempts of a busy hour)");
}

export type Shade = "none" | "good" | "mixed" | "bad";

/** The colour of an hour: bad when most attempts failed. */
export function shadeOf({ delivered, failed }: WebhookHour): Shade {
  if (delivered + failed === 0) return "none";
  if (failed === 0) return "good";
  return failed > delivered ? "bad" : "mixed";
}
