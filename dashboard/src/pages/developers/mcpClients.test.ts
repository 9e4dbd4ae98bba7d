import { expect, test } from "vitest";
import { mcpClients } from "./mcpClients";
import { linksOf } from "./mcpWords";

test("every configuration has the address and the key, and the files are JSON", () => {
  const list = mcpClients({ origin: "https://gate.example.com", key: "gpk_1" });
  for (const { id, where, code } of list) {
    expect(code, id).toContain("https://gate.example.com");
    expect(code, id).toContain("gpk_1");
    if (where.endsWith(".json")) expect(() => JSON.parse(code)).not.toThrow();
  }
});

test("what a call made is known by its id", () => {
  expect(linksOf(["01A1E45CEB4178008001B200096063ED", "drf_1", "cv_1", "lb_1"]).map(({ kind }) => kind)).toEqual([
    "message",
    "draft",
    "conversation",
    "other",
  ]);
});
