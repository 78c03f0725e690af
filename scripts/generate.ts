/**
 * `npm run generate`: writes everything that is generated from the source: the CRDs, the chart's RBAC, and pages of docs/.
 * With an argument it writes what needs a running Mooring:
 *
 *   days                       the recorded days of test/sim/day: read the difference
 *   images                     the screenshots of the web page in docs/images, in your Chromium
 *   recording                  docs/images/demo.cast and demo.svg, in a pseudo-terminal: needs `script` of util-linux
 *   first-steps SCENARIO ...   the transcripts of docs/reference/first-steps.md: see scripts/first-steps/main.ts
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { generatedPages } from "./pages.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

const [what, ...rest] = process.argv.slice(2);
switch (what) {
  case undefined:
    for (const folder of ["crds", "charts/mooring/files/crds"]) await node("src/main.ts", "crds", "--out", folder);
    for (const [path, text] of await generatedPages()) await writeFile(ROOT + path, text);
    break;
  case "days":
    await node("node_modules/vitest/vitest.mjs", "run", "--project", "sim", "test/sim/day", "--update");
    break;
  case "images":
    await node("scripts/build.ts");
    process.env["MOORING_SCREENSHOTS"] = "docs/images";
    await node("node_modules/vitest/vitest.mjs", "run", "--project", "page", "test/page/screenshots");
    break;
  case "screens":
    await node("scripts/build.ts");
    process.env["MOORING_SCREENS"] = rest[0] ?? "screens";
    await node("node_modules/vitest/vitest.mjs", "run", "--project", "page", "test/page/screenshots");
    break;
  case "recording":
    await node("scripts/build.ts");
    await node("scripts/recording/main.ts");
    break;
  case "first-steps":
    await node("scripts/first-steps/main.ts", ...rest);
    break;
  default:
    throw new Error(`${what}: use days, images, screens FOLDER, recording or first-steps, or nothing`);
}

/** @throws Error when the program ends with another code than 0 */
async function node(...args: string[]): Promise<void> {
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ["ignore", "inherit", "inherit"] });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${args.join(" ")} ended with exit code ${code}`);
}
