import { type Change, type Manifest, manifest, type Variant } from "../manifests.ts";

/** A manifest that is refused with `message`, and its twin that is accepted. `change`: how `bad` differs from a good one. */
export type Refusal = { change: string; bad: Manifest; good: Manifest; message: string };

export const refusalsOf =
  (variant: Variant) =>
  (bad: Change, good: Change, message: string): Refusal => ({
    change: `${variant} ${JSON.stringify(bad).slice(0, 120)}`,
    bad: manifest(variant, bad),
    good: manifest(variant, good),
    message,
  });
