import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Invariant } from "../invariants/violation.ts";

/** A guard of the operator that a test build disables: `find` is replaced in the source as it is loaded. */
export type Mutant = {
  name: string;
  /** Relative to the repository. */
  file: string;
  /** Occurs once in the file, or is there `at` this character. */
  find: string;
  at?: number;
  replace: string;
  /** What the simulation can report without the guard. Default: the simulation does not reach the guard. */
  breaks?: readonly Invariant[];
  /** Tests of which at least one fails without the guard: a part of the path in test/sim, or in test/unit, which test/component has as well. */
  tests?: string;
  /** An integration test that looks at the guard. The mutation check does not run it. */
  integration?: string;
};

export const ROOT = join(import.meta.dirname, "../../..");

export function sourceOf({ file }: Pick<Mutant, "file">): string {
  return readFileSync(join(ROOT, file), "utf8");
}

/** The source without the guard. @throws Error unless `find` occurs exactly once */
export function mutated({ name, file, find, replace, at }: Mutant, source: string): string {
  if (at !== undefined && source.startsWith(find, at)) {
    return source.slice(0, at) + replace + source.slice(at + find.length);
  }
  const parts = source.split(find);
  if (parts.length === 2) return parts.join(replace);
  throw new Error(
    `guard ${name}: its code occurs ${parts.length - 1} times in ${file}, expected once: update test/sim/mutants`,
  );
}
