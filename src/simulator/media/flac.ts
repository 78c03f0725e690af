import { createBitWriter } from "./bits.ts";

const BLOCK = 4096;

/** FLAC with verbatim subframes: nothing is compressed, every decoder plays it. */
export function flac(samples: Int16Array, sampleRate: number, channels: number): Buffer {
  const frames = samples.length / channels;
  const blocks: Buffer[] = [];
  for (let start = 0, number = 0; start < frames; start += BLOCK, number++) {
    const count = Math.min(BLOCK, frames - start);
    blocks.push(frame(samples.subarray(start * channels, (start + count) * channels), number, channels));
  }
  return Buffer.concat([Buffer.from("fLaC", "latin1"), streamInfo(sampleRate, channels, frames), ...blocks]);
}

function streamInfo(sampleRate: number, channels: number, frames: number): Buffer {
  const out = createBitWriter();
  // The last metadata block, of type STREAMINFO, 34 bytes.
  out.bits(0x80, 8);
  out.bits(34, 24);
  out.bits(BLOCK, 16);
  out.bits(BLOCK, 16);
  // Frame sizes and the checksum of the samples are unknown, which the format allows.
  out.bits(0, 24);
  out.bits(0, 24);
  out.bits(sampleRate, 20);
  out.bits(channels - 1, 3);
  out.bits(15, 5);
  out.bits(0, 4);
  out.bits(frames, 32);
  for (let i = 0; i < 4; i++) out.bits(0, 32);
  return out.bytes();
}

function frame(samples: Int16Array, number: number, channels: number): Buffer {
  const count = samples.length / channels;
  const head = createBitWriter();
  head.bits(0xfff8, 16);
  // Block size in 16 bits at the end of the header, sample rate from STREAMINFO.
  head.bits(0x70, 8);
  head.bits(((channels - 1) << 4) | 0x08, 8);
  for (const byte of utf8(number)) head.bits(byte, 8);
  head.bits(count - 1, 16);
  const header = head.bytes();

  const body = Buffer.alloc(channels * (1 + count * 2));
  let at = 0;
  for (let channel = 0; channel < channels; channel++) {
    at = body.writeUInt8(0x02, at);
    for (let i = 0; i < count; i++) at = body.writeInt16BE(samples[i * channels + channel] ?? 0, at);
  }
  const whole = Buffer.concat([header, Buffer.from([crc(header, 8, 0x07)]), body]);
  const check = Buffer.alloc(2);
  check.writeUInt16BE(crc(whole, 16, 0x8005));
  return Buffer.concat([whole, check]);
}

/** The frame number, coded as UTF-8 codes characters. */
function utf8(number: number): Buffer {
  return Buffer.from(String.fromCodePoint(number), "utf8");
}

const tables = new Map<number, number[]>();

function crc(bytes: Buffer, width: 8 | 16, polynomial: number): number {
  const mask = 2 ** width - 1;
  let table = tables.get(width);
  if (table === undefined) {
    table = Array.from({ length: 256 }, (_, index) => {
      let value = index << (width - 8);
      for (let bit = 0; bit < 8; bit++) {
        value = ((value & (1 << (width - 1))) !== 0 ? (value << 1) ^ polynomial : value << 1) & mask;
      }
      return value;
    });
    tables.set(width, table);
  }
  let value = 0;
  for (const byte of bytes) value = ((value << 8) ^ (table[((value >> (width - 8)) ^ byte) & 0xff] ?? 0)) & mask;
  return value;
}
