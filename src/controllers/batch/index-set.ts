/** Most items of a batch. Bounds every index, so that a status cannot ask for a large bitmap. */
export const MAX_ITEMS = 100_000;

/** Longest text of ranges in a status, in characters. A longer one is cut, and a bitmap has the whole set. */
export const RANGES_LIMIT = 6 * 1024;

/** Ends ranges that are cut. */
const CUT = ",...";

/** A set of indexes of a batch, from 0 to MAX_ITEMS - 1. Adding and removing take constant time, in 12.5 KB at most. */
export type IndexSet = {
  has(index: number): boolean;
  /** @throws RangeError for what is no index */
  add(index: number): void;
  remove(index: number): void;
  size(): number;
  /** Ascending. */
  values(): Iterable<number>;
  /** The bitmap, as a copy: bit `i % 8` of byte `i / 8` is index `i`. Its last byte has the highest index. */
  bytes(): Uint8Array<ArrayBuffer>;
};

/** A set as a status shows it. */
export type ShownIndexes = {
  /** Ascending, as `0-412,415`; cut with `,...` when it is longer than RANGES_LIMIT. */
  ranges: string;
  /** Bit `i % 8` of byte `i / 8` is index `i`, in base64. Present only when `ranges` is cut. */
  bitmap?: string;
};

/** @param before a set whose indexes the new set has too */
export function createIndexSet(indexes: Iterable<number> = [], before?: IndexSet): IndexSet {
  const set = ofBits(before?.bytes() ?? new Uint8Array(0));
  for (const index of indexes) set.add(index);
  return set;
}

function ofBits(initial: Uint8Array): IndexSet {
  let bits = initial;
  let size = 0;
  for (const byte of bits) size += onesIn(byte);
  const has = (index: number) => ((bits[index >> 3] ?? 0) & (1 << (index & 7))) !== 0;

  return {
    has,
    size: () => size,
    add(index) {
      assertIndex(index);
      if (has(index)) return;
      if (index >> 3 >= bits.length) bits = grown(bits, (index >> 3) + 1);
      bits[index >> 3] = (bits[index >> 3] ?? 0) | (1 << (index & 7));
      size++;
    },
    remove(index) {
      if (!has(index)) return;
      bits[index >> 3] = (bits[index >> 3] ?? 0) & ~(1 << (index & 7));
      size--;
    },
    *values() {
      for (const [at, byte] of bits.entries()) {
        if (byte === 0) continue;
        for (let bit = 0; bit < 8; bit++) if ((byte & (1 << bit)) !== 0) yield at * 8 + bit;
      }
    },
    bytes: () => bits.slice(0, bits.findLastIndex((byte) => byte !== 0) + 1),
  };
}

function onesIn(byte: number): number {
  let ones = 0;
  for (let rest = byte; rest > 0; rest &= rest - 1) ones++;
  return ones;
}

function grown(bits: Uint8Array, length: number): Uint8Array {
  const next = new Uint8Array(Math.min(MAX_ITEMS / 8, Math.max(length, bits.length * 2)));
  next.set(bits);
  return next;
}

function assertIndex(index: number): void {
  if (Number.isInteger(index) && index >= 0 && index < MAX_ITEMS) return;
  throw new RangeError(`index ${index} is not an integer from 0 to ${MAX_ITEMS - 1}`);
}

/** Ranges, ascending, as `0-412,415`. `limit`: the rest is left out when they are longer than so many characters. */
export function rangesOf(set: IndexSet, limit = Number.POSITIVE_INFINITY): string {
  const bytes = set.bytes();
  let ranges = "";
  let first: number | undefined;
  const close = (end: number) => {
    if (first !== undefined) ranges += `${ranges === "" ? "" : ","}${first}${first === end - 1 ? "" : `-${end - 1}`}`;
    first = undefined;
  };
  for (const [at, byte] of bytes.entries()) {
    if (byte === (first === undefined ? 0 : 0xff)) continue;
    for (let bit = 0; bit < 8; bit++) {
      if ((byte & (1 << bit)) === 0) close(at * 8 + bit);
      else first ??= at * 8 + bit;
    }
    if (ranges.length > limit) return ranges;
  }
  close(bytes.length * 8);
  return ranges;
}

/** @throws Error when the text has no ranges, or an index that a batch cannot have */
export function parseRanges(text: string): IndexSet {
  const set = createIndexSet();
  if (text === "") return set;
  for (const range of text.split(",")) {
    const [, first, last = first] = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(range) ?? [];
    if (first === undefined || Number(last) < Number(first)) {
      throw new Error(`indexes "${text.slice(0, 100)}": expected ranges such as 0-412,415`);
    }
    assertIndex(Number(last));
    for (let index = Number(first); index <= Number(last); index++) set.add(index);
  }
  return set;
}

/** A set for a status: at most RANGES_LIMIT characters of ranges and 16.7 KB of bitmap. */
export function shownIndexes(set: IndexSet): ShownIndexes {
  const ranges = rangesOf(set, RANGES_LIMIT);
  if (ranges.length <= RANGES_LIMIT) return { ranges };
  const end = ranges.lastIndexOf(",", RANGES_LIMIT - CUT.length);
  return { ranges: ranges.slice(0, end) + CUT, bitmap: Buffer.from(set.bytes()).toString("base64") };
}

/** @throws Error when it is not what `shownIndexes` returns */
export function indexesOf({ ranges, bitmap }: ShownIndexes): IndexSet {
  if (bitmap === undefined) return parseRanges(ranges);
  const bits = Buffer.from(bitmap, "base64");
  if (bits.length > MAX_ITEMS / 8)
    throw new Error(`a bitmap of ${bits.length} bytes has more than ${MAX_ITEMS} indexes`);
  return ofBits(new Uint8Array(bits));
}
