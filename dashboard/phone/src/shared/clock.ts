/** The time on the sandbox clock, which may be frozen, fast, or far from the real time. */

import { computed, effect, signal } from "@preact/signals";
import { clock } from "./resources";

const tick = signal(0); // once a second
let readAt = 0;
effect(() => {
  if (clock.value.value) readAt = performance.now();
});

/** The time in Unix seconds; 0 before the clock was read. */
export const now = computed(() => {
  const read = clock.value.value;
  tick.value;
  if (!read) return 0;
  return read.frozen ? read.now : read.now + ((performance.now() - readAt) / 1000) * read.speed;
});

export function startClock(): void {
  clock.load();
  setInterval(() => {
    if (!document.hidden && !clock.value.peek()?.frozen) tick.value++;
  }, 1000);
}

const TIME = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const SHORT = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

export function formatTime(seconds: number): string {
  return TIME.format(seconds * 1000);
}

export function formatShortTime(seconds: number): string {
  return SHORT.format(seconds * 1000);
}

export function formatDay(seconds: number): string {
  return DAY.format(seconds * 1000);
}
