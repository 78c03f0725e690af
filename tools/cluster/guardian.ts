// The process that owns a control plane's processes. The one that asked for them holds the other end of its standard input: when that
// end closes, for whatever reason (a stop, Ctrl-C, a crash, kill -9), everything started here ends and the folder is removed.
//
// Input, one JSON value a line: a Request. Output, one JSON value a line: a Report. Everything it manages is thrown away at the end,
// so processes are killed, not asked: an API server with open watches takes a minute to leave on its own.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/**
 * `start` runs a program with its output in `<dir>/<name>.log`, `env` over our environment, by default in `dir`; `cleanup` is run once at
 * the end, when all programs are gone.
 */
export type Request =
  | { type: "start"; name: string; file: string; args: readonly string[]; cwd?: string; env?: Record<string, string> }
  | { type: "cleanup"; file: string; args: readonly string[] };

/** The first report is always `ready`. `pid` is also the id of the process group. */
export type Report =
  | { type: "ready"; dir: string }
  | { type: "started"; name: string; pid: number }
  | { type: "exited"; name: string; ok: boolean; reason: string };

/** Runs until standard input ends. */
function guard(): void {
  const dir = mkdtempSync(join(tmpdir(), "mooring-control-plane-"));
  const running = new Set<ChildProcess>();
  const cleanups: { file: string; args: readonly string[] }[] = [];
  let ending = false;

  const report = (value: Report): void => {
    process.stdout.write(`${JSON.stringify(value)}\n`);
  };

  const finish = (): void => {
    for (const { file, args } of cleanups) {
      spawnSync(file, args, { stdio: "ignore", timeout: 60_000 });
    }
    rmSync(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
    process.exit(0);
  };

  const end = (): void => {
    if (ending) {
      return;
    }
    ending = true;
    for (const child of running) {
      killGroup(child.pid);
    }
    if (running.size === 0) {
      finish();
    }
  };

  const start = ({ name, file, args, cwd = dir, env }: Extract<Request, { type: "start" }>): void => {
    const log = openSync(join(dir, `${name}.log`), "a");
    const child = spawn(file, args, {
      cwd,
      detached: true,
      env: { ...process.env, ...env },
      stdio: ["ignore", log, log],
    });
    closeSync(log);
    running.add(child);
    const gone = (ok: boolean, reason: string): void => {
      if (!running.delete(child)) {
        return;
      }
      report({ type: "exited", name, ok, reason });
      if (ending && running.size === 0) {
        finish();
      }
    };
    child.once("spawn", () => {
      writePid(dir, name, child.pid);
      report({ type: "started", name, pid: child.pid ?? 0 });
    });
    child.once("error", (error) => gone(false, error.message));
    child.once("exit", (code, signal) => gone(code === 0, signal === null ? `exit code ${code}` : `signal ${signal}`));
  };

  // Nobody reads the reports of an orphan: that must not keep it from cleaning up.
  process.stdout.on("error", () => undefined);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, end);
  }
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (line) => {
    const request: Request = JSON.parse(line);
    if (ending) {
      return;
    }
    if (request.type === "start") {
      start(request);
    } else {
      cleanups.push({ file: request.file, args: request.args });
    }
  });
  lines.on("close", end);
  writePid(dir, "guardian", process.pid);
  report({ type: "ready", dir });
}

/** `<dir>/<name>.pid`: for a person, or a test, who looks from outside. */
function writePid(dir: string, name: string, pid: number | undefined): void {
  writeFileSync(join(dir, `${name}.pid`), `${pid}\n`);
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) {
    return;
  }
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) {
      throw error;
    }
  }
}

guard();
