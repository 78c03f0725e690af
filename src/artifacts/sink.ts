import type { StoredArtifact } from "./types.ts";

/** What an interrupted copy left in a store, out of sight. */
export type Leftover = {
  bytes: number;
  /** Whether it came from the source of this identity. */
  matches(identity: string): boolean;
  /** Goes on where it ended. */
  resume(signal: AbortSignal): Promise<Sink>;
};

/** Takes the bytes of one artifact in order. */
export type Sink = {
  /** Bytes that lie in the store and would be there for a later copy to go on from. */
  stored(): number;
  /** Waits until there is room. */
  write(chunk: Uint8Array): Promise<void>;
  /** Verifies and makes visible. @throws ArtifactError; `end` is still needed then */
  commit(): Promise<StoredArtifact>;
  /** Ends without an artifact. `keep`: for a later copy to go on from. Not called after a commit that returned. */
  end(keep: boolean): Promise<void>;
};

/** What each kind of store implements; `createHandle` makes an `ArtifactStoreHandle` of it. */
export type Backend = {
  /** @throws ArtifactError InvalidKey for a key that the store cannot have */
  checkKey(key: string): void;
  /** Memory that a sink holds at most. */
  readonly bufferBytes: number;
  /** Looks for what an interrupted copy to this key left. */
  leftover(key: string, signal: AbortSignal): Promise<Leftover | undefined>;
  /** Starts anew, and deletes leftovers of earlier copies to this key. Without `identity` nobody can go on with it later. */
  open(key: string, identity: string | undefined, signal: AbortSignal): Promise<Sink>;
  /** The artifact under this key, if it surely is a complete copy of this source. */
  existing(key: string, identity: string, bytes: number, signal: AbortSignal): Promise<StoredArtifact | undefined>;
  /** Removes all leftovers of this key. */
  clear(key: string, signal: AbortSignal): Promise<void>;
  probe(signal: AbortSignal): Promise<void>;
  /** Bytes of everything in the store; counts no further than `limit`. */
  usage(limit: number, signal: AbortSignal): Promise<number>;
  dispose(): Promise<void>;
};
