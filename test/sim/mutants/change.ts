import { relative } from "node:path";
import { mutantNamed } from "./all.ts";
import { mutated, ROOT } from "./mutant.ts";
import { marked, readPlaces } from "./random/marks.ts";

/** How a file changes when it is loaded. Undefined: it stays as it is. */
export type Change = (path: string, code: string) => string | undefined;

/** `mutant`: the name of a guard, or a whole mutant as JSON. `places`: a file with the places that tell when they run. */
export function changeBy({ mutant, places }: { mutant?: string | undefined; places?: string | undefined }): Change {
  const one = mutant === undefined ? undefined : mutantNamed(mutant);
  const all = Map.groupBy(places === undefined ? [] : readPlaces(places), ({ file }) => file);
  return (path, code) => {
    const file = relative(ROOT, path);
    if (file === one?.file) return mutated(one, code);
    const inFile = all.get(file);
    return inFile && marked(code, inFile);
  };
}
