/**
 * `npm run test:sim -- [flags]`: the simulation (sim/main.ts). With `fuzz`, disturbed responses and specs (fuzz/main.ts). With the name of
 * a form, all of it: the kind of this name in kinds.ts.
 */
import { KINDS } from "./kinds.ts";

const [, , what = ""] = process.argv;
const isForm = Object.entries(KINDS).some(([name, { project }]) => name === what && project === "forms");
if (isForm) process.argv.splice(2, 1, "test:full", "--only", what, "--long");
else if (what === "fuzz") process.argv.splice(2, 1);
await (isForm ? import("./main.ts") : what === "fuzz" ? import("./fuzz/main.ts") : import("./sim/main.ts"));
