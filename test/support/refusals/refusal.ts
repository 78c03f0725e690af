import type { Change, Variant } from "../manifests.ts";

/**
 * A manifest that is refused and its twin that is not; both are `variant` with a change merged in. `message` is what the
 * API server's one line holds.
 */
export type Refusal = { what: string; variant: Variant; bad: Change; good: Change; message: string };

export function refusal(what: string, variant: Variant, bad: Change, good: Change, message: string): Refusal {
  return { what, variant, bad, good, message };
}
