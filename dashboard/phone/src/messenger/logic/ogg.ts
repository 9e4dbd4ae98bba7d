/** Opus sound of a WebM recording in an Ogg file, as phones send voice messages. The sound itself is not changed. */

export interface OpusSound {
  head: Uint8Array; // the OpusHead packet
  packets: Uint8Array[];
}

const CONTAINERS = new Set([0x18538067, 0x1654ae6b, 0xae, 0x1f43b675, 0xa0]); // segment, tracks, track, cluster, group
const [CODEC_PRIVATE, SIMPLE_BLOCK, BLOCK] = [0x63a2, 0xa3, 0xa1];
const LACED = 0x06; // flags of a block that holds several packets, which recorders of browsers do not write
const PACKETS = 50; // of one page: a second
const SERIAL = 0x67617465;

/** Return the Opus packets of a WebM file, or null if it is something else. */
export function readWebm(bytes: Uint8Array): OpusSound | null {
  let head: Uint8Array | null = null;
  const packets: Uint8Array[] = [];
  let at = 0;
  while (at < bytes.length) {
    const id = readNumber(bytes, at, true);
    const size = id && readNumber(bytes, at + id.length, false);
    if (!id || !size) return null;
    at += id.length + size.length;
    if (CONTAINERS.has(id.value)) continue; // what is inside comes next, also if the size is not known
    const content = bytes.subarray(at, at + size.value);
    at += size.value;
    if (at > bytes.length) return null; // the file is cut off
    if (id.value === CODEC_PRIVATE) head = content;
    if (id.value !== SIMPLE_BLOCK && id.value !== BLOCK) continue;
    const track = readNumber(content, 0, false);
    if (!track || (content[track.length + 2] ?? 0) & LACED) return null;
    packets.push(content.subarray(track.length + 3)); // after the time and the flags
  }
  const isOpus = head !== null && text(head.subarray(0, 8)) === "OpusHead";
  return head && isOpus && packets.length ? { head, packets } : null;
}

/** Return the Ogg file of a sound. */
export function writeOgg({ head, packets }: OpusSound): Uint8Array[] {
  const vendor = new TextEncoder().encode("gatepost");
  const tags = Uint8Array.of(...new TextEncoder().encode("OpusTags"), vendor.length, 0, 0, 0, ...vendor, 0, 0, 0, 0);
  const pages = [page([head], 0, 0, 2), page([tags], 0, 1, 0)];
  let samples = 0;
  for (let first = 0; first < packets.length; ) {
    const some: Uint8Array[] = [];
    for (let segments = 0; some.length < PACKETS; ) {
      const next = packets[first];
      if (!next || segments + Math.floor(next.length / 255) + 1 > 255) break;
      segments += Math.floor(next.length / 255) + 1;
      samples += samplesOf(next);
      some.push(next);
      first += 1;
    }
    if (!some.length) break; // larger than any Opus packet
    pages.push(page(some, samples, pages.length, first >= packets.length ? 4 : 0));
  }
  return pages;
}

/** Return the samples of a packet at 48 kHz, as its first bytes tell. */
export function samplesOf(packet: Uint8Array): number {
  const toc = packet[0] ?? 0;
  const config = toc >> 3;
  const frame = config < 12 ? [480, 960, 1920, 2880] : config < 16 ? [480, 960, 480, 960] : [120, 240, 480, 960];
  const code = toc & 3;
  const frames = code === 0 ? 1 : code === 3 ? (packet[1] ?? 0) & 0x3f : 2;
  return (frame[config & 3] ?? 960) * frames;
}

function page(packets: Uint8Array[], samples: number, number: number, flags: number): Uint8Array {
  const lacing = packets.flatMap((one) => [...Array(Math.floor(one.length / 255)).fill(255), one.length % 255]);
  const start = 27 + lacing.length;
  const bytes = new Uint8Array(start + packets.reduce((sum, one) => sum + one.length, 0));
  const view = new DataView(bytes.buffer);
  bytes.set(new TextEncoder().encode("OggS"));
  bytes[5] = flags;
  view.setBigUint64(6, BigInt(samples), true);
  view.setUint32(14, SERIAL, true);
  view.setUint32(18, number, true);
  bytes[26] = lacing.length;
  bytes.set(lacing, 27);
  let at = start;
  for (const one of packets) {
    bytes.set(one, at);
    at += one.length;
  }
  view.setUint32(22, checksum(bytes), true);
  return bytes;
}

/** Return the CRC-32 of Ogg, which starts with 0 and takes the highest bit first. */
export function checksum(bytes: Uint8Array): number {
  let sum = 0;
  for (const byte of bytes) {
    sum ^= byte << 24;
    for (let bit = 0; bit < 8; bit += 1) sum = sum & 0x80000000 ? (sum << 1) ^ 0x04c11db7 : sum << 1;
  }
  return sum >>> 0;
}

/** Read a number of EBML: the zeros at its front tell its length. An id keeps its mark. */
function readNumber(bytes: Uint8Array, at: number, keep: boolean): { value: number; length: number } | null {
  const first = bytes[at];
  if (!first) return null;
  const length = Math.clz32(first) - 23;
  if (at + length > bytes.length) return null;
  let value = keep ? first : first & (0xff >> length);
  for (let place = 1; place < length; place += 1) value = value * 256 + (bytes[at + place] ?? 0);
  return { value, length };
}

function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
