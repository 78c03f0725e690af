import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { COMPILE_FLAGS, NODE_FLAGS } from "../scripts/node-flags.ts";
import { runProgram } from "../tools/cluster/run-program.ts";

const COMPILE_CACHE = fileURLToPath(new URL("../scripts/compile-cache.ts", import.meta.url));

/** The command that starts a bundle as the image does: with its flags and a compile cache, which is written to `folder`. */
export async function startCommand(
  entry: string,
  folder: string,
  nodeFlags: readonly string[] = [],
): Promise<readonly string[]> {
  const cache = join(folder, "compile-cache");
  await runProgram(process.execPath, [...COMPILE_FLAGS, COMPILE_CACHE, entry, cache]);
  return ["env", `NODE_COMPILE_CACHE=${cache}`, process.execPath, ...NODE_FLAGS, ...nodeFlags, entry];
}
