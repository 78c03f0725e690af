import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import { crdFileName, crdYaml } from "../../api/schema/crd.ts";
import { KINDS } from "../../api/v1alpha1/kinds.ts";
import { examplesHelp } from "../exit-codes.ts";

/** `mooring crds`: prints the CustomResourceDefinitions as one YAML stream, or writes a file each. */
export function registerCrdsCommand(program: Command): void {
  program
    .command("crds")
    .description("print the CustomResourceDefinitions, for kubectl apply -f -")
    .option("--out <dir>", "write one file per kind to this directory instead")
    .addHelpText(
      "after",
      examplesHelp("crds", ["mooring crds | kubectl apply --server-side -f -", "mooring crds --out crds/"]),
    )
    .action(async ({ out }: { out?: string }) => {
      if (out === undefined) process.stdout.write(KINDS.map(crdYaml).join("---\n"));
      else await writeCrds(out);
    });
}

async function writeCrds(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  for (const kind of KINDS) await writeFile(join(directory, crdFileName(kind)), crdYaml(kind));
}
