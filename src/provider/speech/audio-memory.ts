import { createHash, type Hash } from "node:crypto";

const BLOCK_BYTES = 64 * 1024;

/** Knows all audio of a stream by the hashes of its blocks, so that a repetition is found whatever its length. */
export function createAudioMemory() {
  const blocks: string[] = [];
  let last = newHash();
  let size = 0;

  return {
    bytes: () => size,
    add(audio: Uint8Array): void {
      for (let rest = audio; rest.length > 0; ) {
        const piece = rest.subarray(0, BLOCK_BYTES - (size % BLOCK_BYTES));
        last.update(piece);
        size += piece.length;
        rest = rest.subarray(piece.length);
        if (size % BLOCK_BYTES > 0) continue;
        blocks.push(last.digest("base64"));
        last = newHash();
      }
    },
    /** Compares other audio with this one, from the beginning. Nothing may be added meanwhile. */
    compare() {
      let hash = newHash();
      let at = 0;
      return {
        /** Adds bytes. Returns whether all bytes so far equal the beginning of the audio; bytes beyond its end are not compared. */
        matches(audio: Uint8Array): boolean {
          for (let rest = audio; rest.length > 0 && at < size; ) {
            const piece = rest.subarray(0, Math.min(BLOCK_BYTES - (at % BLOCK_BYTES), size - at));
            hash.update(piece);
            at += piece.length;
            rest = rest.subarray(piece.length);
            if (at % BLOCK_BYTES === 0) {
              if (hash.digest("base64") !== blocks[at / BLOCK_BYTES - 1]) return false;
              hash = newHash();
            } else if (at === size && hash.copy().digest("base64") !== last.copy().digest("base64")) return false;
          }
          return true;
        },
      };
    },
  };
}

function newHash(): Hash {
  return createHash("sha256");
}
