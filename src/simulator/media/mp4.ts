import { type Colour, plainPicture } from "./h264.ts";

const FRAMES_PER_SECOND = 24;

/** A real, playable MP4 of one colour. Width and height are even and at most 1920 x 1440. */
export function plainVideo(options: { width: number; height: number; seconds: number; colour: Colour }): Buffer {
  const { width, height, seconds, colour } = options;
  const count = Math.max(1, Math.round(seconds * FRAMES_PER_SECOND));
  const codec = plainPicture(width, height, colour);
  const samples = Array.from({ length: count }, (_, i) => lengthPrefixed(i === 0 ? codec.key : codec.repeat(i)));
  const ftyp = box("ftyp", text("isom"), u32(512), text("isomiso2avc1mp41"));
  const head = (mediaAt: number) => moov({ width, height, count, sizes: samples.map((s) => s.length), codec, mediaAt });
  // The position of the media depends on the size of the head, which does not depend on the position.
  const mediaAt = ftyp.length + head(0).length + 8;
  return Buffer.concat([ftyp, head(mediaAt), box("mdat", ...samples)]);
}

type Movie = {
  width: number;
  height: number;
  count: number;
  sizes: number[];
  codec: { sps: Buffer; pps: Buffer };
  mediaAt: number;
};

function moov(movie: Movie): Buffer {
  const { width, height, count } = movie;
  const duration = u32(count);
  const scale = u32(FRAMES_PER_SECOND);
  const zeros = (bytes: number) => Buffer.alloc(bytes);
  const mvhd = full(
    "mvhd",
    0,
    zeros(8),
    scale,
    duration,
    u32(0x10000),
    u16(0x100),
    zeros(10),
    MATRIX,
    zeros(24),
    u32(2),
  );
  const tkhd = full(
    "tkhd",
    3,
    zeros(8),
    u32(1),
    zeros(4),
    duration,
    zeros(16),
    MATRIX,
    u32(width * 0x10000),
    u32(height * 0x10000),
  );
  const mdhd = full("mdhd", 0, zeros(8), scale, duration, u16(0x55c4), u16(0));
  const hdlr = full("hdlr", 0, zeros(4), text("vide"), zeros(12), text("video\0"));
  const dinf = box("dinf", full("dref", 0, u32(1), full("url ", 1)));
  const minf = box("minf", full("vmhd", 1, zeros(8)), dinf, sampleTable(movie));
  return box("moov", mvhd, box("trak", tkhd, box("mdia", mdhd, hdlr, minf)));
}

function sampleTable({ width, height, count, sizes, codec, mediaAt }: Movie): Buffer {
  const avcC = box(
    "avcC",
    Buffer.from([1, ...codec.sps.subarray(1, 4), 0xff, 0xe1]),
    u16(codec.sps.length),
    codec.sps,
    Buffer.from([1]),
    u16(codec.pps.length),
    codec.pps,
  );
  const avc1 = box(
    "avc1",
    Buffer.from([0, 0, 0, 0, 0, 0, 0, 1]),
    Buffer.alloc(16),
    u16(width),
    u16(height),
    u32(0x480000),
    u32(0x480000),
    u32(0),
    u16(1),
    Buffer.alloc(32),
    u16(24),
    u16(0xffff),
    avcC,
  );
  return box(
    "stbl",
    full("stsd", 0, u32(1), avc1),
    full("stts", 0, u32(1), u32(count), u32(1)),
    full("stss", 0, u32(1), u32(1)),
    full("stsc", 0, u32(1), u32(1), u32(count), u32(1)),
    full("stsz", 0, u32(0), u32(count), ...sizes.map(u32)),
    full("stco", 0, u32(1), u32(mediaAt)),
  );
}

const MATRIX = Buffer.concat([0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000].map(u32));

function box(type: string, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([u32(body.length + 8), text(type), body]);
}

function full(type: string, flags: number, ...parts: Buffer[]): Buffer {
  return box(type, u32(flags), ...parts);
}

function lengthPrefixed(unit: Buffer): Buffer {
  return Buffer.concat([u32(unit.length), unit]);
}

function text(value: string): Buffer {
  return Buffer.from(value, "latin1");
}

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
