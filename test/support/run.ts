import { execFile } from "node:child_process";

export type Ended = { code: number; stdout: string; stderr: string };

/** Runs a program to its end; never throws, so that tests can look at failures. */
export function run(
  file: string,
  args: readonly string[],
  { env = {}, input = "" }: { env?: Record<string, string>; input?: string } = {},
): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { env: { ...process.env, ...env }, maxBuffer: 64 << 20 };
    const child = execFile(file, args, options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
    );
    // A program that ends without reading its input fails by its exit code.
    child.stdin?.on("error", () => undefined).end(input);
  });
}
