import { expect, test } from "vitest";
import { inDays, keyLook } from "./words";

const NOW = Date.parse("2026-11-15T10:00:00Z");
const key = (expires_at: string | null, revoked_at: string | null = null) => ({ expires_at, revoked_at });

test("a key is active, about to expire, expired or revoked", () => {
  expect(keyLook(key(null), NOW).label).toBe("Active");
  expect(keyLook(key("2026-11-22T10:00:00Z"), NOW).label).toBe("Active");
  expect(keyLook(key("2026-11-22T09:59:59Z"), NOW).label).toBe("Expires soon");
  expect(keyLook(key("2026-11-15T10:00:00Z"), NOW).label).toBe("Expired");
  expect(keyLook(key(null, "2026-11-15T09:00:00Z"), NOW).label).toBe("Revoked");
});

test("an expiry is so many days from now, or never", () => {
  expect(inDays("0", NOW)).toBeUndefined();
  expect(inDays("30", NOW)).toBe("2026-12-15T10:00:00.000Z");
});
