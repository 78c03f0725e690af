import { type ChildProcess, spawn } from "node:child_process";
import { inject } from "vitest";
import { BUNDLE } from "./world.ts";

/** A running `mooring ui`. */
export type UiProcess = {
  /** What it printed, with the token. */
  url: string;
  origin: string;
  /** Halts the process until `resume`: it answers nothing, and its connections stay open. */
  halt(): void;
  resume(): void;
  stop(): Promise<number | null>;
};

/** Starts `mooring ui` from the bundle on a free port, as the user of the tests' kubeconfig unless `args` say otherwise. */
export async function startUi(...args: string[]): Promise<UiProcess> {
  const flags = args.some((arg) => arg.startsWith("--kubeconfig")) ? [] : [`--kubeconfig=${inject("kubeconfig")}`];
  const child: ChildProcess = spawn(process.execPath, [BUNDLE, "ui", "--bind-address=127.0.0.1:0", ...flags, ...args]);
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  let text = "";
  const url = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      text += chunk;
      const found = /http:\/\/\S+/.exec(text)?.[0];
      if (found !== undefined) resolve(found);
    };
    child.stdout?.on("data", read);
    child.stderr?.on("data", read);
    void exited.then((code) => reject(new Error(`mooring ui ended with ${code}: ${text}`)));
  });
  return {
    url,
    origin: new URL(url).origin,
    halt: () => void child.kill("SIGSTOP"),
    resume: () => void child.kill("SIGCONT"),
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGTERM");
        // A test that failed may have left it halted.
        child.kill("SIGCONT");
      }
      return exited;
    },
  };
}
