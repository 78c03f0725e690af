import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { findProgram, pathFolders } from "../cluster/binaries.ts";
import { buildKey, cacheFolder, fillWith } from "../cluster/cache.ts";
import { type Guarded, startGuarded } from "../cluster/guarded.ts";
import { freePorts } from "../cluster/ports.ts";
import { withProgress } from "../cluster/progress.ts";
import { waitUntil } from "../cluster/wait-until.ts";

/** Three minutes on two cores with cold caches, a blink afterwards. */
export const VERSITYGW_BUILD_MS = 15 * 60_000;

const moduleFolder = fileURLToPath(new URL("../cluster/versitygw", import.meta.url));
const PACKAGE = "github.com/versity/versitygw/cmd/versitygw";
const PROGRAM = "versitygw";

export type S3Server = {
  endpoint: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** The folder whose folders are the buckets. */
  folder: string;
  stop(): Promise<void>;
};

/** A real S3 server over an empty folder, which goes with it. */
export async function startVersitygw(): Promise<S3Server> {
  const log = (line: string) => process.stderr.write(`versitygw: ${line}\n`);
  const program = await versitygw(log);
  const guarded = await startGuarded();
  try {
    const [port = 0] = await freePorts(1);
    const folder = join(guarded.dir, "buckets");
    await guarded.run("mkdir", "mkdir", ["-p", folder, join(guarded.dir, "metadata")]);
    const keys = { accessKeyId: "test-access", secretAccessKey: "test-secret-key" };
    const address = `127.0.0.1:${port}`;
    await guarded.start(PROGRAM, program, [
      ...["--access", keys.accessKeyId, "--secret", keys.secretAccessKey, "--port", address, "--quiet"],
      // Metadata in files: extended attributes are not on every file system that tests run on.
      ...["posix", "--sidecar", join(guarded.dir, "metadata"), folder],
    ]);
    const endpoint = `http://${address}`;
    const answers = () =>
      fetch(endpoint).then(
        ({ status }) => status === 403,
        () => false,
      );
    await waitUntil("versitygw answers", answers, { timeoutMs: 30_000, signal: guarded.failed });
    return { endpoint, ...keys, folder, stop: guarded.stop };
  } catch (error) {
    const output = await guarded.output(PROGRAM);
    await guarded.stop();
    throw new Error(`versitygw did not start: ${String(error)}\n${output.slice(-2000)}`, { cause: error });
  }
}

/** The program, from the cache or built from its Go module. */
export async function versitygw(log: (line: string) => void): Promise<string> {
  const folder = join(dirname(cacheFolder(process.env)), PROGRAM, await buildKey(moduleFolder, ["go.mod", "go.sum"]));
  const find = (where: string) => findProgram(PROGRAM, [where]);
  const kept = await find(folder);
  if (kept !== undefined) return kept;
  const go = await findProgram("go", pathFolders(process.env["PATH"]));
  if (go === undefined) throw new Error("there is no go on PATH to build versitygw with (https://go.dev/dl)");
  log("building it from its Go module: some minutes, once (kept in the user's cache folder)");
  const built = await fillWith(folder, find, (empty, guarded) => compile(go, empty, guarded, log));
  if (built === undefined) throw new Error(`${folder}: no ${PROGRAM} in it after it was made`);
  return built;
}

async function compile(go: string, folder: string, guarded: Guarded, log: (line: string) => void): Promise<void> {
  const env = { CGO_ENABLED: "0", GOFLAGS: "-mod=readonly", GOWORK: "off", GOTMPDIR: guarded.dir };
  const args = ["build", "-v", "-trimpath", "-ldflags", "-s -w", "-o", join(folder, PROGRAM), PACKAGE];
  const lines = async () => (await guarded.output("go-build")).split("\n").length - 1;
  await withProgress(
    log,
    async () => `${await lines()} modules and packages so far`,
    guarded.run("go-build", go, args, { cwd: moduleFolder, env }),
  );
}
