/** The shape of a sound, as bars. */

export const BARS = 36;
export const LARGEST = 3_000_000; // bytes of a file that is decoded for its shape

/** Return `count` loudnesses from 0 to 1, the loudest of them 1. */
export function peaks(samples: ArrayLike<number>, count = BARS): number[] {
  const size = samples.length / count;
  const found = Array.from({ length: count }, (_, bar) => {
    let most = 0;
    const end = Math.min(samples.length, Math.floor((bar + 1) * size));
    const step = Math.max(1, Math.floor(size / 500));
    for (let at = Math.floor(bar * size); at < end; at += step) most = Math.max(most, Math.abs(samples[at] ?? 0));
    return most;
  });
  const loudest = Math.max(...found);
  return loudest > 0 ? found.map((one) => one / loudest) : found;
}

export interface Sound {
  bars: number[];
  seconds: number;
}

/** Read a sound of the sandbox or of this page; null if the browser cannot decode it. */
export async function readSound(source: string | Blob): Promise<Sound | null> {
  try {
    const from = source instanceof Blob ? source : await fetch(source);
    const bytes = await from.arrayBuffer();
    if (("ok" in from && !from.ok) || bytes.byteLength > LARGEST) return null;
    const buffer = await new OfflineAudioContext(1, 1, 16_000).decodeAudioData(bytes);
    return { bars: peaks(buffer.getChannelData(0)), seconds: buffer.duration };
  } catch {
    return null;
  }
}
