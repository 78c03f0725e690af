import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../mutant.ts";

const VALUE_IMPORT = /^(?:import|export)(?! type\b)[^;]*?from "(\.[^"]+)"|import\("(\.[^"]+)"\)/gm;

/** The tests that load a file, those nearest to it first: by the number of imports between them. */
export function relatedTests(file: string): string[] {
  const tests = globSync("test/{unit,component,security,sim,fuzz}/**/*.test.ts", { cwd: ROOT }).sort();
  const importers = new Map<string, Set<string>>();
  const seen = new Set(tests);
  for (const path of seen) {
    for (const imported of importsOf(path)) {
      seen.add(imported);
      importers.set(imported, (importers.get(imported) ?? new Set()).add(path));
    }
  }
  const near = new Set([file]);
  for (const path of near) for (const importer of importers.get(path) ?? []) near.add(importer);
  return [...near].filter((path) => tests.includes(path));
}

function importsOf(path: string): string[] {
  if (!path.endsWith(".ts")) return [];
  const source = readFileSync(join(ROOT, path), "utf8");
  return [...source.matchAll(VALUE_IMPORT)].map(([, from = "", dynamic = ""]) => join(path, "..", from || dynamic));
}
