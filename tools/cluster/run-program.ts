import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

export type RunOptions = {
  cwd?: string;
  env?: Record<string, string | undefined>;
  /** Called with each line the program prints, on either stream, as it comes. */
  onLine?: (line: string) => void;
  signal?: AbortSignal | undefined;
  timeoutMs?: number;
};

/**
 * Runs a program to its end, without standard input, and returns its standard output. Rejects with an Error that holds its last lines when
 * it ends otherwise than with exit code 0, cannot be started or takes longer than `timeoutMs`; when `signal` aborts, with its reason.
 */
export async function runProgram(file: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { cwd, env = process.env, onLine, signal, timeoutMs } = options;
  const child = spawn(file, args, {
    env,
    stdio: ["ignore", "pipe", "pipe"],
    ...(cwd === undefined ? {} : { cwd }),
    ...(signal === undefined ? {} : { signal }),
    ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }),
  });
  const output: string[] = [];
  const last: string[] = [];
  const collect = (line: string): void => {
    last.push(line);
    if (last.length > 20) {
      last.shift();
    }
    onLine?.(line);
  };
  createInterface({ input: child.stdout }).on("line", (line) => {
    output.push(line);
    collect(line);
  });
  createInterface({ input: child.stderr }).on("line", collect);
  const ending = await new Promise<string | undefined>((resolve, reject) => {
    child.once("error", (error) => reject(signal?.aborted === true ? signal.reason : error));
    child.once("close", (code, by) => resolve(code === 0 ? undefined : by === null ? `exit code ${code}` : `${by}`));
  });
  if (ending !== undefined) {
    throw new Error(`${[file, ...args].join(" ")}: ended with ${ending}\n${last.join("\n")}`.trim());
  }
  return output.join("\n");
}
