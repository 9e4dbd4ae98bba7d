import { expect, it } from "vitest";
import {
  cartProblem,
  money,
  newCart,
  orderItems,
  totals,
  withCurrency,
  withPrice,
  withProduct,
  withQuantity,
} from "./cart";

const products = { catalog_id: "1", sections: [{ items: [{ id: "a" }, { id: "b" }] }, { items: [{ id: "a" }] }] };

it("begins with nothing chosen, unless there is one product", () => {
  expect(newCart(products).lines.map((line) => [line.id, line.quantity])).toEqual([
    ["a", 0],
    ["b", 0],
  ]);
  expect(newCart({ catalog_id: "1", sections: [{ items: [{ id: "a" }] }] }).lines[0]?.quantity).toBe(1);
});

it("changes quantity, price, currency and products", () => {
  let cart = withQuantity(newCart(products), "b", 2.7);
  cart = withPrice(cart, "b", 12.345);
  cart = withCurrency(cart, " brl ");
  expect(orderItems(cart)).toEqual([{ id: "b", quantity: 2, price: 12.35, currency: "BRL" }]);
  expect(withQuantity(cart, "b", -1).lines[1]?.quantity).toBe(0);
  expect(withQuantity(cart, "b", 5_000).lines[1]?.quantity).toBe(999);
  expect(withQuantity(cart, "b", Number.NaN).lines[1]?.quantity).toBe(0);
  expect(withPrice(cart, "b", Number.NaN).lines[1]?.price).toBe(0);
  expect(withProduct(cart, " c ").lines.at(-1)).toEqual({ id: "c", quantity: 1, price: 10 });
  expect(withProduct(cart, "a")).toBe(cart);
  expect(withProduct(cart, " ")).toBe(cart);
});

it("says why it cannot be ordered", () => {
  const cart = newCart(products);
  expect(cartProblem(cart)).toBe("Choose at least one product.");
  expect(cartProblem(withCurrency(cart, "E"))).toBe("The currency has three letters, such as EUR.");
  expect(cartProblem(withQuantity(cart, "a", 1))).toBeNull();
});

it("adds up by currency", () => {
  const items = [
    { id: "a", quantity: 3, price: 0.1, currency: "EUR" },
    { id: "b", quantity: 1, price: "2.5", currency: "EUR" },
    { id: "c", quantity: 1, price: 1, currency: "BRL" },
  ];
  expect(totals(items)).toEqual([
    { currency: "EUR", amount: 2.8 },
    { currency: "BRL", amount: 1 },
  ]);
  expect(money(1.5, "<script>")).toBe("1.5 <script>");
  expect(money(1.5, "EUR")).toContain("1.50");
});
