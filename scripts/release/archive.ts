import { runProgram } from "../../tools/cluster/run-program.ts";

/** Packs a folder of `parent`. The same files give the same archive. */
export async function packFolder(parent: string, folder: string, archive: string): Promise<void> {
  const reproducible = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"];
  await runProgram("tar", [
    "--create",
    "--gzip",
    `--file=${archive}`,
    `--directory=${parent}`,
    ...reproducible,
    folder,
  ]);
}
