import { expect, test } from "vitest";
import { money } from "../../shared/money";
import { countItems, lineTotal, nextStatuses } from "./words";

test("an order moves forward only", () => {
  expect(nextStatuses("new")).toEqual(["confirmed", "shipped", "delivered", "canceled"]);
  expect(nextStatuses("shipped")).toEqual(["delivered", "canceled"]);
  expect(nextStatuses("delivered")).toEqual([]);
  expect(nextStatuses("canceled")).toEqual([]);
});

test("amounts keep every digit", () => {
  expect(money("3.3", "EUR")).toMatch(/3[.,]30/);
  expect(money("12345678901234567.89", "EUR").replace(/\D/g, "")).toBe("1234567890123456789");
  expect(money("5", "nonsense")).toBe("5 nonsense");
  expect(money(null, "EUR")).toBe("–");
});

test("an item's total is exact", () => {
  expect(lineTotal("1.10", 3)).toBe("3.3");
  expect(lineTotal("0.1", 3)).toBe("0.3");
  expect(lineTotal("100", 10)).toBe("1000");
  expect(lineTotal("0.00", 2)).toBe("0");
  expect(lineTotal(undefined, 2)).toBeNull();
  expect(lineTotal("free", 2)).toBeNull();
});

test("items are counted with their quantities", () => {
  expect(countItems([{ quantity: 1 }])).toBe("1 item");
  expect(countItems([{ quantity: 2 }, { quantity: 3 }])).toBe("5 items");
});
