import { LIMIT_GUARDS } from "./limits.ts";
import type { Mutant } from "./mutant.ts";
import { OBJECT_GUARDS } from "./objects.ts";
import { RECORD_GUARDS } from "./records.ts";
import { SENDING_GUARDS } from "./sending.ts";
import { SHARE_GUARDS } from "./shares.ts";

export const MUTANTS: readonly Mutant[] = [
  ...SENDING_GUARDS,
  ...RECORD_GUARDS,
  ...OBJECT_GUARDS,
  ...LIMIT_GUARDS,
  ...SHARE_GUARDS,
];

/** @param name of a guard, or a whole mutant as JSON */
export function mutantNamed(name: string): Mutant {
  if (name.startsWith("{")) return JSON.parse(name);
  const found = MUTANTS.find((one) => one.name === name);
  if (found !== undefined) return found;
  throw new Error(`no guard is called ${name}; the guards are: ${MUTANTS.map((one) => one.name).join(", ")}`);
}
