import { globSync } from "node:fs";
import { createRandom } from "../../../../src/simulator/random.ts";
import { hashText } from "../../engine/scheduler.ts";
import { ROOT } from "../mutant.ts";
import { type Mutation, mutationsOf, OPERATORS } from "./mutations.ts";

const FOLDERS = "{submission,controllers,provider,runtime,artifacts,base}";

/** Mutations of the core, in turns of the operators: each one has the same share, however often its code occurs. */
export function sampleOf(count: number, seed: number): Mutation[] {
  const all = mutationsOf(globSync(`src/${FOLDERS}/**/*.ts`, { cwd: ROOT }).sort());
  const random = createRandom(hashText(`mutants ${seed}`));
  const groups = OPERATORS.map((operator) => all.filter((mutation) => mutation.operator === operator));
  return Array.from({ length: count }).flatMap((_, index) => {
    const group = groups[index % groups.length] ?? [];
    return group.splice(Math.floor(random.next() * group.length), 1);
  });
}

/** @param names as in the table */
export function mutationsNamed(names: readonly string[]): Mutation[] {
  const all = mutationsOf([...new Set(names.map((name) => name.split(":")[0] ?? ""))]);
  return names.map((name) => {
    const found = all.find((one) => one.name === name);
    if (found === undefined) throw new Error(`there is no mutation ${name}`);
    return found;
  });
}
