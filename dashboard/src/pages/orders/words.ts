/** The way of an order. It only moves forward, and can be canceled until it is delivered. */
const WAY = ["new", "confirmed", "shipped", "delivered"] as const;
export const STATUSES = [...WAY, "canceled"] as const;
export type Status = (typeof STATUSES)[number];

const LOOKS: Record<Status, { label: string; color: string; action: string }> = {
  new: { label: "New", color: "yellow", action: "" },
  confirmed: { label: "Confirmed", color: "blue", action: "Confirm" },
  shipped: { label: "Shipped", color: "violet", action: "Mark as shipped" },
  delivered: { label: "Delivered", color: "teal", action: "Mark as delivered" },
  canceled: { label: "Canceled", color: "gray", action: "Cancel the order" },
};

export function statusLook(status: Status) {
  return LOOKS[status];
}

/** The statuses that an order can get next; the usual one first. */
export function nextStatuses(status: Status): Status[] {
  const i = (WAY as readonly Status[]).indexOf(status);
  return i < 0 || i === WAY.length - 1 ? [] : [...WAY.slice(i + 1), "canceled"];
}

const SCALE = 6;

/** The price of all pieces of an item, computed without rounding. */
export function lineTotal(price: string | undefined, quantity: number): string | null {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(price ?? "");
  if (!match) return null;
  const [, sign, whole, part = ""] = match;
  const digits = part.padEnd(SCALE, "0");
  if (digits.length > SCALE) return null;
  const total = (BigInt(`${whole}${digits}`) * BigInt(quantity)).toString().padStart(SCALE + 1, "0");
  const text = `${total.slice(0, -SCALE)}.${total.slice(-SCALE)}`.replace(/\.?0+$/, "");
  return `${sign}${text}`;
}

export function countItems(items: { quantity: number }[]): string {
  const count = items.reduce((sum, { quantity }) => sum + quantity, 0);
  return count === 1 ? "1 item" : `${count.toLocaleString()} items`;
}
