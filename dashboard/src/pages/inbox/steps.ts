export type Place = { id: string; channel: string };

/**
 * The conversation after or before the open one. One that has left the list, such as a closed one, had the place `last`,
 * where the next one is now. Without an open one, it is the first.
 */
export function stepFrom(order: Place[], current: string | undefined, last: number, by: 1 | -1): Place | undefined {
  if (!current) return order[0];
  const index = order.findIndex(({ id }) => id === current);
  if (index !== -1) return order[index + by];
  return order[by === 1 ? Math.min(last, order.length - 1) : Math.max(last - 1, 0)];
}
