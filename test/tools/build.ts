/** Builds or finds the programs that tests use besides the control plane, so that no test waits for it: `node test/tools/build.ts`. */
import { tool } from "./tool.ts";

for (const name of ["helm", "promtool", "glua", "kstatus"] as const) console.log(await tool(name));
