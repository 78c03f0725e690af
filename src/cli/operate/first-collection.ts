import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** By then, the start and a first `kubectl apply` are over as a rule. */
export const FIRST_COLLECTION_MS = 60_000;
/** A larger heap has passed V8's first limit (scripts/node-flags.ts), and its collection would be a long pause. */
const SMALL_BYTES = 96 * 2 ** 20;

/**
 * Collects a small heap once. V8 collects on its own while a program rests, but only from its first collection of the old generation on.
 * With few objects, garbage takes long to cause that one, and until then what the start left behind stays.
 */
export function collectFirst(): void {
  if (getHeapStatistics().total_heap_size > SMALL_BYTES) return;
  setFlagsFromString("--expose-gc");
  /** undefined: this Node does not take the flag any more. */
  const collect: ((options: object) => void) | undefined = runInNewContext("globalThis.gc");
  setFlagsFromString("--no-expose-gc");
  collect?.({ type: "major", execution: "async" });
}
