import { describe, expect, it } from "vitest";
import { mp3Tone } from "../../../src/simulator/audio.ts";
import { readMedia } from "../../../src/simulator/media/read-media.ts";
import { tone, wav } from "../../../src/simulator/media/tone.ts";

const samples = (channels: number, sampleRate: number, seconds: number) =>
  tone({ seconds, sampleRate, channels, hertz: 440 });

describe("WAV", () => {
  it("has the announced type", () => {
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
    { seconds: 0.01, frames: 1 },
    { seconds: 1, frames: 28 },
    { seconds: 1200, frames: 33_334 },
  ])("is whole frames: %j", ({ seconds, frames }) => {
    const bytes = mp3Tone(seconds);
    const frame = 576;
    expect(bytes.length).toBe(frames * frame);
    for (let at = 0; at < bytes.length; at += frame) {
      // Layer III without a checksum; 128 kbit/s at 32 kHz is 576 bytes a frame; one channel.
      if (bytes.readUInt32BE(at) !== 0xfffb98c4) expect.fail(`no frame at byte ${at}`);
    }
  });
});

describe("FLAC", () => {
  it("holds as many frames as its header says, with right checksums", () => {
    const bytes = readMedia("tone.flac");
    expect(bytes.toString("latin1", 0, 4)).toBe("fLaC");
    const [blockSize, sampleRate] = [bytes.readUInt16BE(8), bytes.readUIntBE(18, 3) >> 4];
    const samples = bytes.readUInt32BE(22);
    expect({ sampleRate, samples }).toEqual({ sampleRate: 32_000, samples: 64_000 });

    const starts = frameStarts(bytes);
    expect(starts).toHaveLength(Math.ceil(samples / blockSize));
    for (const [index, start] of starts.entries()) {
      const end = (starts[index + 1] ?? bytes.length) - 2;
      expect(crc(bytes.subarray(start, end), 16, 0x8005)).toBe(bytes.readUInt16BE(end));
    }
  });
});

/** Where a sync code begins a header of 5 to 8 bytes that ends with its own checksum. */
function frameStarts(bytes: Buffer): number[] {
  const starts: number[] = [];
  for (let at = bytes.indexOf("fff8", 0, "hex"); at >= 0; at = bytes.indexOf("fff8", at + 1, "hex")) {
    if ([5, 6, 7, 8].some((size) => crc(bytes.subarray(at, at + size), 8, 0x07) === bytes[at + size])) starts.push(at);
  }
  return starts;
}

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
  it("832 x 480, 5 s: boxes add up and samples lie where the tables say", () => {
    const [width, height, seconds] = [832, 480, 5];
    const bytes = readMedia("plain.mp4");
    const boxes = boxesOf(bytes);
    expect(boxes.map(({ type }) => type)).toEqual(["ftyp", "moov", "free", "mdat"]);
    const find = (type: string) => bytes.indexOf(type, 0, "latin1") + 4;
    const avc1 = bytes.lastIndexOf("avc1", bytes.indexOf("avcC", 0, "latin1"), "latin1") + 4;
    expect([bytes.readUInt16BE(avc1 + 24), bytes.readUInt16BE(avc1 + 26)]).toEqual([width, height]);
    const stsz = find("stsz");
    const count = bytes.readUInt32BE(stsz + 8);
    expect(count).toBe(seconds * 24);
    let at = bytes.readUInt32BE(find("stco") + 8);
    expect(at).toBe((boxes[3]?.start ?? 0) + 8);
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
