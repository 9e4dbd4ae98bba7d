import { expect, test } from "vitest";
import { connectionLook } from "../../shared/connection";
import { needsHelp, qualityLook, shareColor, usage } from "./words";

test("a limit says how much is used, and without one there is no bar", () => {
  expect(usage({ limit: 1000, used: 12 })).toEqual({ text: "12 of 1,000", share: 1.2 });
  expect(usage({ limit: 10, used: 20 }).share).toBe(100);
  expect(usage({ limit: null, used: 3 })).toEqual({ text: "3 · no limit", share: null });
  expect([10, 80, 100].map(shareColor)).toEqual(["teal", "orange", "red"]);
});

test("a rejected token is red, whatever the connection says", () => {
  const dead = { connection: "limited", token_rejected_at: "2026-11-16T00:00:00.000Z" };
  expect(connectionLook(dead)).toEqual({ label: "Access token rejected", color: "red" });
  expect(needsHelp(dead)).toBe(true);
  const limited = { connection: "limited", token_rejected_at: null };
  expect(connectionLook(limited).color).toBe("orange");
  expect(needsHelp(limited)).toBe(false);
});

test("a quality that nobody knows is not rated", () => {
  expect(qualityLook("GREEN")?.label).toBe("High");
  expect(qualityLook("UNKNOWN")?.label).toBe("Not rated yet");
  expect(qualityLook(null)).toBeNull();
});
