import { join } from "node:path";
import { startGuarded } from "../cluster/guarded.ts";
import { freePorts } from "../cluster/ports.ts";
import { waitUntil } from "../cluster/wait-until.ts";
import { tool } from "../programs/tool.ts";

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
  const program = await tool("versitygw");
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
