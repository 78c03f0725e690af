/**
 * Builds programs that tests use besides the control plane, unless they are there: `node tools/programs/build.ts [NAME...]`. One that
 * cannot be built does not keep the others from it.
 */
import { ALL_TOOLS, isTool, prepareTool, tool } from "./tool.ts";

const names = process.argv.length > 2 ? process.argv.slice(2) : ALL_TOOLS;
const log = (line: string) => void process.stderr.write(`tools: ${line}\n`);
for (const name of names) {
  const obstacle = isTool(name) ? await prepareTool(name, log) : "there is no such tool";
  if (obstacle === undefined && isTool(name)) {
    console.log(await tool(name));
    continue;
  }
  log(`${name} is not built: ${obstacle}`);
  process.exitCode = 1;
}
