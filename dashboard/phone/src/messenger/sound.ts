/** The sound of a message that arrives: made here, and only after it was switched on. */

import { signal } from "@preact/signals";

export const soundOn = signal(false);
let context: AudioContext | null = null;

/** Switch the sound on or off. Browsers allow it only after a click. */
export function toggleSound(): void {
  soundOn.value = !soundOn.value;
  if (!soundOn.value) return;
  context ??= new AudioContext();
  context.resume();
  playChime();
}

/** Play two short tones, if the sound is on. */
export function playChime(): void {
  if (!soundOn.value || !context) return;
  for (const [delay, frequency] of [
    [0, 880],
    [0.12, 1318.5],
  ] as const) {
    const tone = context.createOscillator();
    const volume = context.createGain();
    const start = context.currentTime + delay;
    tone.frequency.value = frequency;
    volume.gain.setValueAtTime(0, start);
    volume.gain.linearRampToValueAtTime(0.16, start + 0.015);
    volume.gain.exponentialRampToValueAtTime(0.001, start + 0.35);
    tone.connect(volume).connect(context.destination);
    tone.start(start);
    tone.stop(start + 0.4);
  }
}
