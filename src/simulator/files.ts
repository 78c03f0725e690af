import type { Random } from "./random.ts";

/** A result with a URL. `padding` zero bytes follow `head`; they are not kept in memory. */
export type StoredFile = {
  id: string;
  name: string;
  contentType: string;
  head: Buffer;
  padding: number;
  expiresAtMs: number;
};

export type Files = {
  add(file: Omit<StoredFile, "id">): StoredFile;
  find(id: string): StoredFile | undefined;
};

export function createFiles(random: Random): Files {
  const byID = new Map<string, StoredFile>();
  return {
    add: (file) => {
      const stored = { id: random.hex(24), ...file };
      byID.set(stored.id, stored);
      return stored;
    },
    find: (id) => byID.get(id),
  };
}

const PIECE = 256 * 1024;

/** Yields the bytes from `start` to before `end`, in pieces. */
export function* bytesOf(file: StoredFile, start: number, end: number): Generator<Buffer> {
  if (start < file.head.length) yield file.head.subarray(start, Math.min(end, file.head.length));
  for (let at = Math.max(start, file.head.length); at < end; at += PIECE) yield Buffer.alloc(Math.min(PIECE, end - at));
}

/** Parses `Range: bytes=a-b` for a file of `size` bytes. Returns undefined for a missing or unusable range. */
export function parseRange(header: string | undefined, size: number): { start: number; end: number } | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? "");
  if (match === null || (match[1] === "" && match[2] === "")) return undefined;
  const [, first = "", last = ""] = match;
  const start = first === "" ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === "" || last === "" ? size : Math.min(size, Number(last) + 1);
  return start < end ? { start, end } : undefined;
}
