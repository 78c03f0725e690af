import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Report, Request } from "./guardian.ts";

/** A folder and processes that end with this process, whichever way it ends. */
export type Guarded = {
  /** The temporary folder; `<name>.log` in it is what the program `name` prints. */
  dir: string;
  /** Starts a program; it is not restarted. Returns when the operating system has started it; rejects if it could not. */
  start(name: string, file: string, args: readonly string[]): Promise<void>;
  /** Registers a command that runs once when all ends, even if this process is killed. */
  atEnd(file: string, args: readonly string[]): void;
  /** Aborts, with an Error that names the program and its log as the reason, when a started program has exited. */
  failed: AbortSignal;
  /** Ends every process and removes the folder. Returns when both are done. May be called again. */
  stop(): Promise<void>;
};

/** Starts a guardian (see guardian.ts) and waits until it has made its folder. */
export async function startGuarded(): Promise<Guarded> {
  const script = fileURLToPath(new URL("./guardian.ts", import.meta.url));
  const { NODE_OPTIONS: _ours, ...env } = process.env;
  // In a session of its own, so that Ctrl-C in a terminal reaches only us and the guardian can still clean up.
  const guardian = spawn(process.execPath, [script], { detached: true, env, stdio: ["pipe", "pipe", "inherit"] });
  const exited = once(guardian, "exit");
  const failure = new AbortController();
  const groups = new Map<string, number>();
  const starting = new Map<string, { resolve: () => void; reject: (error: Error) => void }>();
  let dir = "";
  let stopping = false;

  const ready = Promise.withResolvers<void>();
  guardian.once("error", ready.reject);
  guardian.once("exit", (code, signal) => {
    const error = new Error(`guardian of the control plane ended unexpectedly (${signal ?? `exit code ${code}`})`);
    ready.reject(error);
    for (const { reject } of starting.values()) {
      reject(error);
    }
    if (!stopping) {
      failure.abort(error);
    }
  });
  // A guardian that is gone is told by its exit, not by a broken pipe.
  guardian.stdin.on("error", () => undefined);

  const onReport = (report: Report): void => {
    switch (report.type) {
      case "ready":
        dir = report.dir;
        ready.resolve();
        return;
      case "started":
        groups.set(report.name, report.pid);
        starting.get(report.name)?.resolve();
        return;
      case "exited": {
        groups.delete(report.name);
        const error = new Error(`${report.name} ended (${report.reason}); its log: ${dir}/${report.name}.log`);
        starting.get(report.name)?.reject(error);
        if (!stopping) {
          failure.abort(error);
        }
      }
    }
  };
  createInterface({ input: guardian.stdout }).on("line", (line) => onReport(JSON.parse(line)));
  const send = (request: Request): void => {
    guardian.stdin.write(`${JSON.stringify(request)}\n`);
  };
  await ready.promise;

  return {
    dir,
    failed: failure.signal,
    start: async (name, file, args) => {
      failure.signal.throwIfAborted();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      starting.set(name, { resolve, reject });
      send({ type: "start", name, file, args });
      await promise;
    },
    atEnd: (file, args) => send({ type: "cleanup", file, args }),
    stop: async () => {
      stopping = true;
      guardian.stdin.end();
      await exited;
      // All done already, unless somebody killed the guardian.
      for (const pid of groups.values()) {
        try {
          process.kill(-pid, "SIGKILL");
        } catch {
          // The group is gone, which is what is wanted.
        }
      }
      await rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
    },
  };
}
