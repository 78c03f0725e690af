import { describe, expect, it } from "vitest";
import { flac } from "../../../src/simulator/media/flac.ts";
import { silentMp3 } from "../../../src/simulator/media/mp3.ts";
import { plainVideo } from "../../../src/simulator/media/mp4.ts";
import { tone, wav } from "../../../src/simulator/media/tone.ts";

const samples = (channels: number, sampleRate: number, seconds: number) =>
  tone({ seconds, sampleRate, channels, hertz: 440 });

describe("WAV", () => {
  it("says what it holds", () => {
    const bytes = wav(samples(2, 16_000, 0.5), 16_000, 2);
    expect(bytes.toString("latin1", 0, 4) + bytes.toString("latin1", 8, 16)).toBe("RIFFWAVEfmt ");
    expect(bytes.readUInt32LE(4)).toBe(bytes.length - 8);
    expect(bytes.readUInt32LE(24)).toBe(16_000);
    expect(bytes.readUInt32LE(40)).toBe(16_000 * 2 * 2 * 0.5);
  });

  it("is a tone from the first to the last second, on every channel", () => {
    const heard = samples(2, 8000, 2.5);
    expect(heard).toHaveLength(2.5 * 8000 * 2);
    const wrong = Array.from(heard).filter((sample, index) => {
      const frame = Math.floor(index / 2);
      return Math.abs(sample - Math.sin((2 * Math.PI * 440 * frame) / 8000) * 8000) > 0.51;
    });
    expect(wrong).toEqual([]);
  });
});

describe("MP3", () => {
  it.each([
    { sampleRate: 44_100, bitrate: 128_000, frame: 417 },
    { sampleRate: 32_000, bitrate: 64_000, frame: 288 },
    { sampleRate: 16_000, bitrate: 32_000, frame: 144 },
    { sampleRate: 8000, bitrate: 32_000, frame: 144 },
  ])("is whole frames: %j", ({ sampleRate, bitrate, frame }) => {
    const bytes = silentMp3({ seconds: 1, sampleRate, channels: 1, bitrate });
    expect(bytes.length % frame).toBe(0);
    for (let at = 0; at < bytes.length; at += frame) expect(bytes.readUInt16BE(at) & 0xfff2).toBe(0xfff2);
  });
});

describe("FLAC", () => {
  it("holds the samples as they are, frame by frame, with right checksums", () => {
    const source = samples(2, 32_000, 0.3);
    const bytes = flac(source, 32_000, 2);
    expect(bytes.toString("latin1", 0, 4)).toBe("fLaC");
    const restored: number[] = [];
    let at = 4 + 4 + 34;
    while (at < bytes.length) {
      const count = bytes.readUInt16BE(at + 5) + 1;
      expect(crc(bytes.subarray(at, at + 7), 8, 0x07)).toBe(bytes[at + 7]);
      const body = at + 8;
      const end = body + 2 * (1 + count * 2);
      for (let i = 0; i < count; i++) {
        restored.push(bytes.readInt16BE(body + 1 + i * 2), bytes.readInt16BE(body + 2 + count * 2 + i * 2));
      }
      expect(crc(bytes.subarray(at, end), 16, 0x8005)).toBe(bytes.readUInt16BE(end));
      at = end + 2;
    }
    expect(restored).toEqual([...source]);
  });
});

/** A checksum bit by bit, unlike the table that is tested. */
function crc(bytes: Buffer, width: number, polynomial: number): number {
  let value = 0;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      const top = ((value >> (width - 1)) & 1) ^ ((byte >> bit) & 1);
      value = ((value << 1) & (2 ** width - 1)) ^ (top === 1 ? polynomial : 0);
    }
  }
  return value;
}

describe("MP4", () => {
  it.each([
    [832, 480, 5],
    [1920, 1080, 10],
    [1088, 832, 5],
  ])("%d x %d, %d s: boxes add up and samples lie where the tables say", (width, height, seconds) => {
    const bytes = plainVideo({ width, height, seconds, colour: { y: 100, cb: 120, cr: 140 } });
    const boxes = boxesOf(bytes);
    expect(boxes.map(({ type }) => type)).toEqual(["ftyp", "moov", "mdat"]);
    const find = (type: string) => bytes.indexOf(type, 0, "latin1") + 4;
    const avc1 = bytes.lastIndexOf("avc1", bytes.indexOf("avcC", 0, "latin1"), "latin1") + 4;
    expect([bytes.readUInt16BE(avc1 + 24), bytes.readUInt16BE(avc1 + 26)]).toEqual([width, height]);
    const stsz = find("stsz");
    const count = bytes.readUInt32BE(stsz + 8);
    expect(count).toBe(seconds * 24);
    let at = bytes.readUInt32BE(find("stco") + 8);
    expect(at).toBe((boxes[2]?.start ?? 0) + 8);
    for (let i = 0; i < count; i++) {
      const size = bytes.readUInt32BE(stsz + 12 + i * 4);
      expect(bytes.readUInt32BE(at)).toBe(size - 4);
      expect((bytes[at + 4] ?? 0) & 0x1f).toBe(i === 0 ? 5 : 1);
      at += size;
    }
    expect(at).toBe(bytes.length);
  });
});

function boxesOf(bytes: Buffer): { type: string; start: number }[] {
  const boxes: { type: string; start: number }[] = [];
  for (let at = 0; at < bytes.length; at += bytes.readUInt32BE(at)) {
    boxes.push({ type: bytes.toString("latin1", at + 4, at + 8), start: at });
  }
  return boxes;
}
