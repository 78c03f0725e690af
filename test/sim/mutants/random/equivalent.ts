import type { Mutation } from "./mutations.ts";

/** A random mutant that changes nothing that a user, the service or the API server could see, and why. */
export type Equivalent = Pick<Mutation, "file" | "operator" | "find" | "code"> & { why: string };

export const EQUIVALENT: readonly Equivalent[] = [
  {
    file: "src/controllers/billing/usage.ts",
    operator: "number",
    find: "0",
    code: ".sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))",
    why: "the keys of a Map are never equal",
  },
  {
    file: "src/controllers/billing/split.ts",
    operator: "number",
    find: "0",
    code: "const empty = { meter, first, last, amount: 0n, billed: 0n, end: 0, cardPrice: undefined };",
    why: "the latest end of bills is compared with times of this century",
  },
  {
    file: "src/provider/speech/audio-scanner.ts",
    operator: "logical",
    find: "!inAudio() || at === bytes.length",
    code: "if (!inAudio() || at === bytes.length) return NOTHING;",
    why: "outside the audio, all bytes were read; at its begin, no bytes are left, and nothing is returned either way",
  },
];

export function isEquivalent({ file, operator, find, code }: Mutation): boolean {
  return EQUIVALENT.some(
    (one) => one.file === file && one.operator === operator && one.find === find && one.code === code,
  );
}
