/**
 * `npm run test:sim -- [flags]`: the simulation (sim/main.ts).
 * `npm run test:sim -- fuzz [--specs] [flags]`: disturbed responses and specs (fuzz/main.ts).
 * `npm run test:sim -- FORM`: a systematic search, the kind FORM of kinds.ts: all of the campaign, pairs, perturbation or transitions.
 */
import { join } from "node:path";
import { asksForHelp, helpOf } from "./help.ts";
import { KINDS } from "./kinds.ts";

const [, , what = ""] = process.argv;
const isForm = Object.entries(KINDS).some(([name, { project }]) => name === what && project === "forms");
if (!isForm && asksForHelp(process.argv)) {
  const programs = what === "fuzz" ? ["fuzz/main.ts"] : ["simulate.ts", "sim/main.ts"];
  console.log(programs.map((program) => helpOf(join(import.meta.dirname, program))).join("\n\n"));
  process.exit();
}
if (isForm) process.argv.splice(2, 1, "test:full", "--only", what, "--long");
else if (what === "fuzz") process.argv.splice(2, 1);
await (isForm ? import("./main.ts") : what === "fuzz" ? import("./fuzz/main.ts") : import("./sim/main.ts"));
