import { expect, it } from "vitest";
import { run } from "../support/run.ts";

it.each([
  { args: ["test"], words: ["--only KINDS", "--rest"] },
  { args: ["test:full"], words: ["--only KINDS", "unit, component, sim", "--seed N"] },
  { args: ["test:full", "--only", "pairs", "-h"], words: ["--only KINDS"] },
  { args: ["test:sim"], words: ["FORM", "--hours N", "fuzz [--specs]"] },
  { args: ["test:sim", "pairs"], words: ["--only KINDS"] },
  { args: ["test:sim", "fuzz"], words: ["--path P"] },
])("npm run $args --help tells the options and runs nothing", async ({ args: [script = "", ...args], words }) => {
  const options = args.includes("-h") ? args : [...args, "--help"];
  const { code, stdout, stderr } = await run("npm", ["run", "--silent", script, "--", ...options]);
  expect(code, stderr).toBe(0);
  for (const word of words) expect(stdout).toContain(word);
  expect(stdout).not.toMatch(/(passed|failed) after|executions, seed|^ \*/m);
});
