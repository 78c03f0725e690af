import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inject } from "vitest";
import { readPids } from "./processes.ts";

export const DEMO_SCRIPT = "tools/demo/main.ts";

export type Demo = {
  child: ChildProcess;
  /** Its temporary folder: everything the demo makes is in it. */
  folder: string;
  output(): string;
  /** Exit code, or the signal that ended it. */
  ended: Promise<number | string | null>;
  /** The processes it has started so far, by name. */
  pids(): Promise<Map<string, number>>;
};

/** Runs the demo as package.json's script does, with pipes for a terminal. The bundle exists already. The caller ends it. */
export async function startDemo({ borrow, args = [] }: { borrow: boolean; args?: string[] }): Promise<Demo> {
  const folder = await mkdtemp(join(tmpdir(), "demo-test-"));
  const cluster = borrow ? { USE_EXISTING_CLUSTER: "true", KUBECONFIG: inject("kubeconfig") } : {};
  const child = spawn(process.execPath, [DEMO_SCRIPT, ...args], {
    cwd: fileURLToPath(new URL("../..", import.meta.url)),
    env: { ...process.env, ...cluster, TMPDIR: folder },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      text += chunk;
    });
  }
  const pids = async () => {
    const folders = await readdir(folder);
    const maps = await Promise.all(folders.map((name) => readPids(join(folder, name)).catch(() => new Map())));
    return new Map<string, number>(maps.flatMap((map) => [...map]));
  };
  const ended = once(child, "close").then(([code, signal]) => code ?? signal);
  return { child, folder, output: () => text, ended, pids };
}
