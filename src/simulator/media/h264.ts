import { type BitWriter, createBitWriter } from "./bits.ts";

/** A colour as the codec knows it, each 16 to 235. */
export type Colour = { y: number; cb: number; cr: number };

export type H264 = {
  sps: Buffer;
  pps: Buffer;
  /** The whole picture: a key frame. */
  key: Buffer;
  /** A picture equal to the one before; `number` counts from the key frame. */
  repeat(number: number): Buffer;
};

/**
 * A picture of one colour as H.264 baseline: the first macroblock is written out, every other one is predicted from its
 * neighbours with nothing to add. Width and height are even.
 */
export function plainPicture(width: number, height: number, colour: Colour): H264 {
  const columns = Math.ceil(width / 16);
  const rows = Math.ceil(height / 16);
  return {
    sps: sequence(columns, rows, width, height),
    pps: picture(),
    key: keyFrame(columns, rows, colour),
    repeat: (number) => {
      const out = slice(5, number, false);
      out.ue(columns * rows);
      return finish(2, 1, out);
    },
  };
}

function sequence(columns: number, rows: number, width: number, height: number): Buffer {
  const out = createBitWriter();
  // Baseline profile, constrained, level 4.0.
  out.bits(66, 8);
  out.bits(0xc0, 8);
  out.bits(40, 8);
  out.ue(0);
  // Frame numbers of 8 bits; pictures are shown in the order in which they are coded.
  out.ue(4);
  out.ue(2);
  out.ue(1);
  out.bits(0, 1);
  out.ue(columns - 1);
  out.ue(rows - 1);
  out.bits(1, 1);
  out.bits(1, 1);
  const right = columns * 16 - width;
  const bottom = rows * 16 - height;
  out.bits(right > 0 || bottom > 0 ? 1 : 0, 1);
  if (right > 0 || bottom > 0) {
    out.ue(0);
    out.ue(right / 2);
    out.ue(0);
    out.ue(bottom / 2);
  }
  out.bits(0, 1);
  return finish(3, 7, out);
}

function picture(): Buffer {
  const out = createBitWriter();
  out.ue(0);
  out.ue(0);
  out.bits(0, 2);
  out.ue(0);
  out.ue(0);
  out.ue(0);
  out.bits(0, 3);
  out.se(0);
  out.se(0);
  out.se(0);
  out.bits(0, 3);
  return finish(3, 8, out);
}

function slice(type: 5 | 7, frameNumber: number, key: boolean): BitWriter {
  const out = createBitWriter();
  out.ue(0);
  out.ue(type);
  out.ue(0);
  out.bits(frameNumber % 256, 8);
  if (key) {
    out.ue(0);
    out.bits(0, 2);
  } else {
    // No other count of references, no reordering, no marking.
    out.bits(0, 3);
  }
  out.se(0);
  return out;
}

function keyFrame(columns: number, rows: number, colour: Colour): Buffer {
  const out = slice(7, 0, true);
  // I_PCM: 256 samples of luma, 64 of each chroma.
  out.ue(25);
  out.align();
  for (let i = 0; i < 256; i++) out.bits(colour.y, 8);
  for (let i = 0; i < 64; i++) out.bits(colour.cb, 8);
  for (let i = 0; i < 64; i++) out.bits(colour.cr, 8);
  for (let block = 1; block < columns * rows; block++) {
    // Intra 16x16 predicted as the mean of its neighbours, no coefficients, chroma likewise, quantiser unchanged.
    out.ue(3);
    out.ue(0);
    out.se(0);
    // "No coefficients" is spelled by how many the neighbours have; the written-out one counts as full.
    const besideFull = block === 1 || block === columns;
    out.bits(besideFull ? 3 : 1, besideFull ? 6 : 1);
  }
  return finish(3, 5, out);
}

/** Stop bit, NAL header, and a 3 wherever two zeros would make the bytes after them look like a start code. */
function finish(importance: number, type: number, out: BitWriter): Buffer {
  out.bits(1, 1);
  out.align();
  const bytes: number[] = [(importance << 5) | type];
  let zeros = 0;
  for (const byte of out.bytes()) {
    if (zeros >= 2 && byte <= 3) {
      bytes.push(3);
      zeros = 0;
    }
    bytes.push(byte);
    zeros = byte === 0 ? zeros + 1 : 0;
  }
  return Buffer.from(bytes);
}
