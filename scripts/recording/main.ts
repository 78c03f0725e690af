/**
 * Records the demo in a pseudo-terminal, by `script` of util-linux, as docs/images/demo.cast and demo.svg: `npm run generate -- recording`. The
 * recording has no path, host name or user name of this machine.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { homedir, hostname, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { castOf, outputsOf, withoutTraces } from "./cast.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const SIZE = { columns: 126, rows: 44 };
/** Draws the recording as an SVG, which GitHub plays. Nothing else needs it, so it is no dependency. */
const SVG_TERM = "svg-term-cli@2.1.1";
const DEMO = `stty cols ${SIZE.columns} rows ${SIZE.rows} && exec "${process.execPath}" tools/demo/main.ts`;

const folder = await mkdtemp(join(tmpdir(), "mooring-recording-"));
try {
  const log = join(folder, "typescript");
  const timing = join(folder, "timing");
  await run("script", ["--quiet", "--return", "--log-out", log, "--log-timing", timing, "--command", DEMO]);
  const outputs = withoutTraces(outputsOf(await readFile(log), await readFile(timing, "utf8")), [
    [ROOT, "."],
    [tmpdir(), "$TMPDIR"],
    [homedir(), "~"],
    [hostname(), "host"],
    [`${userInfo().username}@`, "user@"],
  ]);
  const cast = join(ROOT, "docs/images/demo.cast");
  await writeFile(cast, castOf("npm run demo", outputs, SIZE));
  await run("npx", ["--yes", SVG_TERM, "--in", cast, "--out", join(ROOT, "docs/images/demo.svg"), "--window"]);
} finally {
  await rm(folder, { recursive: true });
}

/** @throws Error when the program cannot be started or ends with another code than 0 */
async function run(file: string, args: readonly string[]): Promise<void> {
  const child = spawn(file, args, { cwd: ROOT, stdio: ["ignore", "inherit", "inherit"] });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${file} ended with exit code ${code}`);
}
