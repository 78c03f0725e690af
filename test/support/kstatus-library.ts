import { execFile } from "node:child_process";
import { tool } from "../../tools/programs/tool.ts";

/**
 * What kstatus.ts says, by the library itself (fluxcd/cli-utils), built from its Go module: the verdict on each object, in their order.
 * @throws Error when an object is none, or the program is not built
 */
export async function kstatusVerdicts(objects: readonly object[]): Promise<string[]> {
  const program = await tool("kstatus");
  const output = await new Promise<string>((resolve, reject) => {
    const child = execFile(program, { maxBuffer: 64 << 20 }, (error, stdout) =>
      error === null ? resolve(stdout) : reject(error),
    );
    child.stdin?.end(JSON.stringify(objects));
  });
  return (JSON.parse(output) as { status: string }[]).map(({ status }) => status);
}
