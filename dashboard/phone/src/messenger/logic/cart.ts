/** The cart of a person: what is ordered, how many, at what price. */

import type { Order, OrderItem, Products } from "../types";

export interface Cart {
  currency: string;
  lines: Line[];
}

export interface Line {
  id: string;
  quantity: number;
  price: number;
}

const MOST = 999;
const CURRENCY = /^[A-Z]{3}$/;

/** Return a cart with each product of a message once, none of them chosen unless it is the only one. */
export function newCart(products: Products, currency = "EUR"): Cart {
  const ids = [...new Set(products.sections.flatMap((section) => section.items.map((item) => item.id)))];
  return { currency, lines: ids.map((id) => ({ id, quantity: ids.length === 1 ? 1 : 0, price: 10 })) };
}

/** Return the cart with another quantity of a product: a whole number from 0 to 999. */
export function withQuantity(cart: Cart, id: string, quantity: number): Cart {
  const whole = Number.isFinite(quantity) ? Math.min(MOST, Math.max(0, Math.floor(quantity))) : 0;
  return change(cart, id, { quantity: whole });
}

/** Return the cart with another price of a product: not negative, at most two decimals. */
export function withPrice(cart: Cart, id: string, price: number): Cart {
  return change(cart, id, { price: Number.isFinite(price) ? Math.max(0, Math.round(price * 100) / 100) : 0 });
}

/** Return the cart in another currency. */
export function withCurrency(cart: Cart, currency: string): Cart {
  return { ...cart, currency: currency.trim().toUpperCase().slice(0, 3) };
}

/** Return the cart with one more product that the message does not show, such as of a whole catalogue. */
export function withProduct(cart: Cart, id: string): Cart {
  const known = id.trim();
  if (!known || cart.lines.some((line) => line.id === known)) return cart;
  return { ...cart, lines: [...cart.lines, { id: known, quantity: 1, price: 10 }] };
}

function change(cart: Cart, id: string, difference: Partial<Line>): Cart {
  return { ...cart, lines: cart.lines.map((line) => (line.id === id ? { ...line, ...difference } : line)) };
}

/** Return what is ordered. */
export function orderItems(cart: Cart): OrderItem[] {
  return cart.lines.filter((line) => line.quantity > 0).map((line) => ({ ...line, currency: cart.currency }));
}

/** Return why the cart cannot be ordered, or null. */
export function cartProblem(cart: Cart): string | null {
  if (!CURRENCY.test(cart.currency)) return "The currency has three letters, such as EUR.";
  return orderItems(cart).length ? null : "Choose at least one product.";
}

/** Return the sum of items for each currency. */
export function totals(items: Order["items"]): { currency: string; amount: number }[] {
  const sums = new Map<string, number>();
  for (const item of items)
    sums.set(item.currency, (sums.get(item.currency) ?? 0) + item.quantity * Number(item.price));
  return [...sums].map(([currency, amount]) => ({ currency, amount: Math.round(amount * 100) / 100 }));
}

/** Return an amount with its currency. */
export function money(amount: number, currency: string): string {
  try {
    return new Intl.NumberFormat(undefined, { style: "currency", currency }).format(amount);
  } catch {
    return `${amount} ${currency}`; // not a currency code
  }
}
