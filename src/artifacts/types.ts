import { createHash } from "node:crypto";
import type { LookupFunction } from "node:net";

/** An artifact in a store: complete, and verified. */
export type StoredArtifact = {
  /** `s3://BUCKET/KEY` or `file:///PATH` as the operator sees it. */
  uri: string;
  bytes: number;
  /** In hex. */
  sha256: string;
};

export type CopyProgress = {
  /** Bytes in the store now. */
  bytes: number;
  /** Size of the source, if it says so. */
  totalBytes: number | undefined;
};

export type CopyOptions = {
  /** Judges the address of the source and of every redirect: `AccountHandle.resultLookup` of the account whose result this is. */
  lookup: LookupFunction;
  /** Ends the copy; what was copied stays hidden, and the next `copy` of the same source to the same key continues there. */
  signal: AbortSignal;
  /** Bytes that the job has stored already: they count towards its limit. Default 0. */
  usedBytes?: number;
  /** Whether something waits for the end of the copy: then a source that is too slow ends it. Default: no. */
  urgent?: () => boolean;
  /** Called as parts arrive in the store, at most once for each 8 MiB. */
  onProgress?: (progress: CopyProgress) => void;
};

export type WriterOptions = {
  /** Ends writes that are under way; `discard` is still needed. */
  signal: AbortSignal;
  /** The most that will be written. The store refuses a writer for more than a job may store. Default: what a job may store. */
  maxBytes?: number;
};

/**
 * Takes bytes as they come. `write` waits until there is room, so memory stays flat however long the stream is. Nothing is
 * visible under the key before `commit` returns, and nothing stays after `discard`. One of the two ends the writer.
 */
export type ArtifactWriter = {
  /** @throws ArtifactError; the writer can then only be discarded. The chunk must not be changed before this returns. */
  write(chunk: Uint8Array): Promise<void>;
  /** @throws ArtifactError; nothing is visible then, and the writer is discarded. */
  commit(): Promise<StoredArtifact>;
  /** Never throws for what was already gone. */
  discard(): Promise<void>;
};

/**
 * One ArtifactStore as its users have it. Keys come from `artifactKey`; the prefix of the store itself is put before them.
 *
 * Guarantees: memory does not grow with the size; an object is visible under its key complete and verified, or not at all; what
 * lies under the key is replaced as a whole.
 */
export type ArtifactStoreHandle = {
  /** Checks whether something can be stored under a key, without I/O. @throws ArtifactError InvalidKey */
  checkKey(key: string): void;
  /**
   * Copies an http(s) URL. A broken connection continues where it broke, within the call and in a later
   * call, if the source can prove (ETag or Last-Modified) that it is the same; otherwise the copy starts again.
   * @throws ArtifactError
   */
  copy(sourceURL: string, key: string, options: CopyOptions): Promise<StoredArtifact>;
  /** @throws ArtifactError TooLarge when `maxBytes` is more than a job may store */
  writer(key: string, options: WriterOptions): Promise<ArtifactWriter>;
  /**
   * Opens an object for reading.
   * @throws ArtifactError NotFound; SourceChanged when it is not `wanted.version` any more
   * @returns undefined when the range begins after the end of the object
   */
  read(key: string, wanted: WantedPart, signal: AbortSignal): Promise<StoredBytes | undefined>;
  /**
   * An object by which somebody without credentials can read it. @throws ArtifactError NotFound
   * @returns undefined when objects of this kind of store have no URLs
   */
  link(key: string, signal: AbortSignal): Promise<StoredLink | undefined>;
  /** Stores a small text unless the key has something. @returns whether it was stored */
  create(key: string, text: string, signal: AbortSignal): Promise<boolean>;
  /** Whether the object under a key has this content. */
  holds(key: string, content: Digest, signal: AbortSignal): Promise<boolean>;
  /** Deletes the object under a key. Nothing happens without one. @throws ArtifactError */
  remove(key: string, signal: AbortSignal): Promise<void>;
  /** Whether jobs that do not say so reuse results in this store. Undefined: the store does not say. */
  reuse(): boolean | undefined;
  /** Deletes the leftovers of an interrupted copy to this key that nobody continues; a complete object stays. */
  abandon(key: string, signal: AbortSignal): Promise<void>;
  /** Writes a small object, reads it back and removes it. @throws ArtifactError that says what does not work */
  probe(signal: AbortSignal): Promise<void>;
  /** Measures the size of a store with a limit. @throws ArtifactError */
  measure(signal: AbortSignal): Promise<void>;
  /** Why new work must wait: the store has reached its limit. Undefined: it does not wait. */
  full(): string | undefined;
  /** Ends connections; what is under way fails. */
  dispose(): Promise<void>;
};

/** The hidden leftovers of an interrupted copy. */
export type Leftover = {
  bytes: number;
  /** Whether it came from the source of this identity. */
  matches(identity: string): boolean;
  /** Continues where the copy ended. */
  resume(signal: AbortSignal): Promise<Sink>;
};

/** Takes the bytes of one artifact in order. */
export type Sink = {
  /** Bytes in the store from which a later copy can continue. */
  stored(): number;
  /** Waits until there is room. */
  write(chunk: Uint8Array): Promise<void>;
  /** Verifies and makes visible. @throws ArtifactError; `end` is still needed then */
  commit(): Promise<StoredArtifact>;
  /** Ends without an artifact. `keep`: a later copy can continue. Not called after a commit that returned. */
  end(keep: boolean): Promise<void>;
};

/** What each kind of store implements; `createHandle` makes an `ArtifactStoreHandle` of it. */
export type Backend = {
  /** @throws ArtifactError InvalidKey for a key that the store cannot have */
  checkKey(key: string): void;
  /** Memory that a sink holds at most. */
  readonly bufferBytes: number;
  /** Finds the leftovers of an interrupted copy to this key. */
  leftover(key: string, signal: AbortSignal): Promise<Leftover | undefined>;
  /** Starts again, and deletes leftovers of earlier copies to this key. Without `identity`, no later copy can continue. */
  open(key: string, identity: string | undefined, signal: AbortSignal): Promise<Sink>;
  /** The artifact under this key, if it surely is a complete copy of this source. */
  existing(key: string, identity: string, bytes: number, signal: AbortSignal): Promise<StoredArtifact | undefined>;
  read(key: string, wanted: WantedPart, signal: AbortSignal): Promise<StoredBytes | undefined>;
  /** Undefined: objects of this kind of store have no URLs. */
  link?(key: string, signal: AbortSignal): Promise<StoredLink>;
  create(key: string, text: string, signal: AbortSignal): Promise<boolean>;
  /** Undefined: there is no such object, or it may not be read. */
  digest(key: string, signal: AbortSignal): Promise<Digest | undefined>;
  remove(key: string, signal: AbortSignal): Promise<void>;
  /** Removes all leftovers of this key. */
  clear(key: string, signal: AbortSignal): Promise<void>;
  probe(signal: AbortSignal): Promise<void>;
  /** Bytes of everything in the store; counts no further than `limit`. */
  usage(limit: number, signal: AbortSignal): Promise<number>;
  dispose(): Promise<void>;
};

/** An object of a store for readers without credentials. */
export type StoredLink = {
  /** As `StoredArtifact.uri`. */
  uri: string;
  /** Of the content: its checksum, or the ETag. */
  version: string;
  /** A secret: with this URL, anybody can read the object for a day. Each call signs a new one and sends no request. */
  url(): Promise<string>;
};

export type Digest = { bytes: number; sha256: string };

export async function digestOf(chunks: AsyncIterable<Uint8Array>): Promise<Digest> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of chunks) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sha256: hash.digest("hex") };
}

/** `version`: of the object that was read before. Default: any. */
export type WantedPart = ByteRange & { version?: string | undefined };

/** Bytes of a stored result from `start` to before `end`. */
export type StoredBytes = {
  totalBytes: number;
  start: number;
  end: number;
  /** Another object under the key has another one. Undefined: the store has none. */
  version?: string | undefined;
  chunks: AsyncIterable<Uint8Array>;
  close(): Promise<void>;
};

/** `end` undefined: to the end of the file. */
export type ByteRange = { start: number; end: number | undefined };

/** The part of a file that a range asks for; undefined: the range begins after its end. */
export function partOf(range: ByteRange, totalBytes: number): { start: number; end: number } | undefined {
  const end = Math.min(range.end ?? totalBytes, totalBytes);
  return range.start < end || (range.start === 0 && totalBytes === 0) ? { start: range.start, end } : undefined;
}
