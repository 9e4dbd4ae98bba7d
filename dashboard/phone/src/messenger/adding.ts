import { signal } from "@preact/signals";

/** Whether the form that adds a phone is open. */
export const adding = signal(false);

export function toggleAdding(): void {
  adding.value = !adding.value;
}
