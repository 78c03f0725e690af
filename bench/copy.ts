// A large result copied to S3 (versitygw) and to a volume, each in a process of its own: time, peak memory, and what a copy
// that is killed half-way asks for again. `node bench/copy.ts [MEGABYTES]`, default 200.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { NODE_FLAGS } from "../scripts/node-flags.ts";
import { COPIES_AT_ONCE } from "../src/artifacts/handle.ts";
import { sha256Of, startFileServer } from "../tools/artifacts/file-server.ts";
import { startVersitygw } from "../tools/artifacts/versitygw.ts";
import { prepareTools } from "../tools/programs/tool.ts";

const MB = 1_000_000;
const bytes = Number(process.argv[2] ?? 200) * MB;
const script = fileURLToPath(new URL("copy-subject.ts", import.meta.url));
const server = await startFileServer();
await prepareTools(["versitygw"], (line) => console.error(line));
const s3 = await startVersitygw();
await mkdir(join(s3.folder, "results"));
const root = await mkdtemp(join(tmpdir(), "mooring-copy-"));
const mib = (kib: number) => `${Math.round(kib / 1024)} MiB`;

type Report = { maxRSS: number; before: number; ms: number; sums: string[] };
type Options = { killAt?: number; count?: number };

/** Copies in another process, `count` at once. Killed once `killAt` bytes lie in the store: then there is no report. */
async function copy(
  kind: "s3" | "volume",
  name: string,
  { killAt = Number.POSITIVE_INFINITY, count = 1 }: Options = {},
): Promise<Report | undefined> {
  const store =
    kind === "volume"
      ? { kind, root }
      : { kind, endpoint: s3.endpoint, accessKeyId: s3.accessKeyId, secretAccessKey: s3.secretAccessKey };
  const keys = Array.from({ length: count }, (_, index) => `team/VideoJob/${name}/uid/${index}.mp4`);
  const task = { store, url: `${server.url}/${name}`, keys };
  const child = spawn(process.execPath, [...NODE_FLAGS, script, JSON.stringify(task)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let report: Report | undefined;
  createInterface({ input: child.stdout }).on("line", (line) => {
    const said: { stored?: number } & Report = JSON.parse(line);
    if (said.stored === undefined) report = said;
    else if (said.stored >= killAt) child.kill("SIGKILL");
  });
  await once(child, "close");
  return report;
}

try {
  for (const kind of ["s3", "volume"] as const) {
    for (const [size, count] of [
      [bytes / 10, 1],
      [bytes, 1],
      [bytes, COPIES_AT_ONCE],
    ] as const) {
      server.files.set("/whole", { bytes: size, etag: `"${size} ${count}"` });
      const done = await copy(kind, "whole", { count });
      const sum = sha256Of(size);
      if (done?.sums.length !== count || done.sums.some((one) => one !== sum))
        throw new Error(`${kind}: not copied whole`);
      console.log(
        `${kind}: ${count} x ${size / MB} MB in ${(done.ms / 1000).toFixed(1)} s, ${mib(done.before)} resident before, ${mib(done.maxRSS)} at most`,
      );
    }
    server.files.set("/killed", { bytes, etag: '"killed"' });
    await copy(kind, "killed", { killAt: bytes / 2 });
    const before = server.sent();
    const done = await copy(kind, "killed");
    if (done === undefined || done.sums[0] !== sha256Of(bytes)) throw new Error(`${kind}: not taken up`);
    const range = server.seen.at(-1)?.range ?? "";
    const from = Number(/\d+/.exec(range)?.[0] ?? 0);
    console.log(
      `${kind}: killed at half of ${bytes / MB} MB, taken up at ${(from / MB).toFixed(1)} MB; ${((server.sent() - before) / MB).toFixed(1)} MB were fetched after that`,
    );
    if (from < bytes / 2 - 8 * 1024 * 1024) process.exitCode = 1;
  }
  const left = (await readdir(root, { recursive: true })).filter((name) => name.includes(".partial"));
  if (left.length > 0) throw new Error(`left behind: ${left.join(", ")}`);
} finally {
  await Promise.all([server.close(), s3.stop(), rm(root, { recursive: true, force: true })]);
}
