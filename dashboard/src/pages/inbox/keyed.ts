/** Items with their places as keys, for lists that never change: what people send may hold the same text twice. */
export function keyed<Item>(items: readonly Item[]): { key: number; item: Item }[] {
  return items.map((item, key) => ({ key, item }));
}
