import type { Random } from "../../../src/simulator/random.ts";

/** Makes UUIDs (version 4) of a sequence of random numbers. */
export function createUuids(random: Random): () => string {
  return () => `${random.hex(8)}-${random.hex(4)}-4${random.hex(3)}-8${random.hex(3)}-${random.hex(12)}`;
}
