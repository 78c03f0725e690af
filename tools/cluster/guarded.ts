import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm } from "node:fs/promises";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Report, Request } from "./guardian.ts";

/** How to run a program: `env` goes over this process's environment; `cwd` is the guarded folder unless given. */
export type RunOptions = { cwd?: string; env?: Record<string, string>; signal?: AbortSignal | undefined };

/** A folder and processes that end with this process, whichever way it ends. */
export type Guarded = {
  /** The temporary folder. */
  dir: string;
  /** Starts a program that is to stay. Returns when the operating system has started it; rejects if it could not. */
  start(name: string, file: string, args: readonly string[]): Promise<void>;
  /** Lets `onEnd` decide what the end of the program `name` means from now on, instead of `failed`. */
  tolerate(name: string, onEnd: (error: Error) => void): void;
  /** Runs a program to its end. Rejects, with its last lines, unless it ends with exit code 0, and when `signal` aborts. */
  run(name: string, file: string, args: readonly string[], options?: RunOptions): Promise<void>;
  /** Kills the program `name`, which is no failure. Returns when it has ended: another may then start under its name. */
  end(name: string): Promise<void>;
  /** What the program `name` printed so far, on either stream; empty before it starts. */
  output(name: string): Promise<string>;
  /** Registers a command that runs once when all ends, even if this process is killed. */
  atEnd(file: string, args: readonly string[]): void;
  /** Aborts, with an Error that names the program as its reason, when one that was to stay has ended. */
  failed: AbortSignal;
  /** Ends every process and removes the folder. Returns when both are done. May be called again. */
  stop(): Promise<void>;
};

/** What waits for a report about one program. */
type Waiting = {
  started: PromiseWithResolvers<void>;
  ended: PromiseWithResolvers<void>;
  stays: boolean;
  onEnd?: (error: Error) => void;
};

/** Starts a guardian (see guardian.ts) and waits until it has made its folder. */
export async function startGuarded(): Promise<Guarded> {
  const script = fileURLToPath(new URL("./guardian.ts", import.meta.url));
  const { NODE_OPTIONS: _ours, ...env } = process.env;
  // In a session of its own, so that Ctrl-C in a terminal reaches only us and the guardian can still clean up.
  const guardian = spawn(process.execPath, [script], { detached: true, env, stdio: ["pipe", "pipe", "inherit"] });
  const exited = once(guardian, "exit");
  const ready = Promise.withResolvers<string>();
  const failure = new AbortController();
  const groups = new Map<string, number>();
  const programs = new Map<string, Waiting>();
  let stopping = false;

  const ended = (name: string, program: Waiting, error: Error | undefined): void => {
    if (error === undefined && !program.stays) {
      program.ended.resolve();
      return;
    }
    const reason = error ?? new Error(`${name} ended by itself`);
    program.started.reject(reason);
    program.ended.reject(reason);
    if (program.stays && !stopping) {
      const { onEnd = (error) => failure.abort(error) } = program;
      onEnd(reason);
    }
  };
  const onReport = (report: Report): void => {
    if (report.type === "ready") {
      ready.resolve(report.dir);
      return;
    }
    const program = programs.get(report.name);
    if (program === undefined) {
      return;
    }
    if (report.type === "started") {
      groups.set(report.name, report.pid);
      program.started.resolve();
    } else {
      groups.delete(report.name);
      ended(report.name, program, report.ok ? undefined : new Error(`${report.name} ended with ${report.reason}`));
    }
  };
  createInterface({ input: guardian.stdout }).on("line", (line) => onReport(JSON.parse(line)));
  guardian.once("error", ready.reject);
  guardian.once("exit", (code, signal) => {
    const error = new Error(`the guardian of the processes ended (${signal ?? `exit code ${code}`})`);
    ready.reject(error);
    for (const [name, program] of programs) {
      if (groups.has(name)) {
        ended(name, program, error);
      }
    }
  });
  // A guardian that is gone is told by its exit, not by a broken pipe.
  guardian.stdin.on("error", () => undefined);
  const send = (request: Request): void => {
    guardian.stdin.write(`${JSON.stringify(request)}\n`);
  };
  const dir = await ready.promise;

  const launch = async (request: Extract<Request, { type: "start" }>, stays: boolean): Promise<Waiting> => {
    const program: Waiting = { started: Promise.withResolvers<void>(), ended: Promise.withResolvers<void>(), stays };
    // Nobody may be waiting any more when it ends.
    program.ended.promise.catch(() => undefined);
    programs.set(request.name, program);
    send(request);
    await program.started.promise;
    return program;
  };
  const output = (name: string) => readFile(`${dir}/${name}.log`, "utf8").catch(() => "");

  return {
    dir,
    output,
    failed: failure.signal,
    start: async (name, file, args) => {
      failure.signal.throwIfAborted();
      await launch({ type: "start", name, file, args }, true);
    },
    tolerate: (name, onEnd) => {
      const program = programs.get(name);
      if (program !== undefined) program.onEnd = onEnd;
    },
    end: async (name) => {
      const [program, group] = [programs.get(name), groups.get(name)];
      if (program === undefined || group === undefined) throw new Error(`${name} does not run`);
      program.onEnd = () => undefined;
      process.kill(-group, "SIGKILL");
      await program.ended.promise.catch(() => undefined);
    },
    run: async (name, file, args, { signal, ...options } = {}) => {
      signal?.throwIfAborted();
      try {
        const program = await launch({ type: "start", name, file, args, ...options }, false);
        await (signal === undefined ? program.ended.promise : Promise.race([program.ended.promise, aborted(signal)]));
      } catch (cause) {
        signal?.throwIfAborted();
        const last = (await output(name)).trim().split("\n").slice(-15).join("\n");
        throw new Error(`${[file, ...args].join(" ")}: ${String(cause)}\n${last}`.trim(), { cause });
      }
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

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
    }
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
