import { expect, it } from "vitest";
import { checksum, readWebm, samplesOf, writeOgg } from "./ogg";

const HEAD = [...new TextEncoder().encode("OpusHead"), 1, 1, 56, 1, 128, 187, 0, 0, 0, 0, 0];
const UNKNOWN = [0x01, 255, 255, 255, 255, 255, 255, 255]; // as a recorder writes the size of what it has not ended

function element(id: number[], content: number[]): number[] {
  return [...id, 0x40 | (content.length >> 8), content.length & 255, ...content];
}

function block(packet: number[], flags = 0x80): number[] {
  return element([0xa3], [0x81, 0, 0, flags, ...packet]);
}

function webm(...blocks: number[][]): Uint8Array {
  const track = element([0xae], element([0x63, 0xa2], HEAD));
  const tracks = element([0x16, 0x54, 0xae, 0x6b], track);
  const clusters = blocks.flatMap((one) => [0x1f, 0x43, 0xb6, 0x75, ...UNKNOWN, ...element([0xe7], [0]), ...one]);
  return Uint8Array.of(
    ...element([0x1a, 0x45, 0xdf, 0xa3], [1, 2]),
    ...[0x18, 0x53, 0x80, 0x67],
    ...UNKNOWN,
    ...tracks,
    ...clusters,
  );
}

it("takes the sound out of a recording as it is", () => {
  const long = [0x78, ...Array(300).fill(7)];
  const sound = readWebm(webm(block([0x78, 1, 2]), block(long)));
  expect(sound?.packets.map((one) => [...one])).toEqual([[0x78, 1, 2], long]);
  expect(sound && [...sound.head]).toEqual(HEAD);
});

it("writes pages with their times, lengths and checksums", () => {
  const packets = [Uint8Array.of(0x78, 1), Uint8Array.of(0x78, ...Array(254).fill(7)), Uint8Array.of(0x78, 3)];
  const pages = writeOgg({ head: Uint8Array.of(...HEAD), packets });
  expect(pages.map((one) => one[5])).toEqual([2, 0, 4]); // the first, a page, the last
  for (const [number, one] of pages.entries()) {
    const view = new DataView(one.buffer);
    const sum = view.getUint32(22, true);
    view.setUint32(22, 0, true);
    expect(checksum(one)).toBe(sum);
    expect(view.getUint32(18, true)).toBe(number);
  }
  const last = pages[2] ?? new Uint8Array();
  expect(new DataView(last.buffer).getBigUint64(6, true)).toBe(3n * 960n);
  expect([...last.subarray(26, 31)]).toEqual([4, 2, 255, 0, 2]); // a packet of 255 bytes ends with an empty segment
});

it("has the checksum of Ogg", () => {
  expect(checksum(new TextEncoder().encode("123456789"))).toBe(0x89a1897f);
});

it("puts a second on a page", () => {
  const packets = Array.from({ length: 120 }, () => Uint8Array.of(0x78, 1));
  expect(writeOgg({ head: Uint8Array.of(...HEAD), packets })).toHaveLength(2 + 3);
});

it("knows how long a packet is", () => {
  expect(samplesOf(Uint8Array.of(0x78))).toBe(960); // hybrid, 20 ms
  expect(samplesOf(Uint8Array.of(0x18))).toBe(2880); // speech, 60 ms
  expect(samplesOf(Uint8Array.of(0xe1))).toBe(240); // music, two frames of 2.5 ms
  expect(samplesOf(Uint8Array.of(0xfb, 3))).toBe(2880); // music, three frames of 20 ms
});

it("leaves alone what it does not know", () => {
  expect(readWebm(new Uint8Array())).toBeNull();
  expect(readWebm(Uint8Array.of(0, 1, 2))).toBeNull();
  expect(readWebm(webm())).toBeNull();
  expect(readWebm(webm(block([0x78], 0x06)))).toBeNull(); // several packets in one block
  const cut = webm(block([0x78, 1]));
  expect(readWebm(cut.subarray(0, cut.length - 4))).toBeNull();
});
