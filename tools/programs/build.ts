/** Builds the programs that tests use besides the control plane, unless they are there: `node tools/programs/build.ts`. */
import { ALL_TOOLS, prepareTools, tool } from "./tool.ts";

await prepareTools(ALL_TOOLS, (line) => process.stderr.write(`tools: ${line}\n`));
for (const name of ALL_TOOLS) console.log(await tool(name));
