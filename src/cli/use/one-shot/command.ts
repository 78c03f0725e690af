import { text } from "node:stream/consumers";
import { type Command, Option } from "commander";
import { parseDuration } from "../../../api/schema/duration.ts";
import { systemClock } from "../../../base/clock.ts";
import type { Resource } from "../../../kube/resource.ts";
import {
  accountRef,
  addAccountNames,
  addClusterOptions,
  type ClusterFlags,
  withCluster,
} from "../../account-source.ts";
import { createProgress } from "./progress.ts";
import { type OneShot, type OneShotEnd, runOneShot } from "./run-job.ts";

export type OneShotFlags = ClusterFlags & {
  account?: string;
  clusterAccount?: string;
  name?: string;
  store?: string;
  output: string;
  timeout: string;
  keep?: boolean;
  rm?: boolean;
  again?: boolean;
  force?: boolean;
};

/** The common help of `say` and `film`. */
export const ONE_SHOT_HELP = `
The command creates an object, waits for its result and downloads it. It pays once: the name of the object is made of your
text and flags, so the same command finds the same object and its result. The object is deleted a day after its end; --keep
keeps it, and --rm deletes it when the file is written. To pay for another result of the same text, add --again.

Ctrl-C ends the wait, not the job. The service cannot stop a task.
`;

const EXIT_CODES: Record<OneShotEnd["kind"], number> = { Written: 0, Failed: 3, Halted: 3, Interrupted: 130 };

/** The flags of a command that makes one file. */
export function addOneShotOptions(command: Command, file: string): Command {
  return addAccountNames(addClusterOptions(command))
    .requiredOption("-o, --output <file>", `the file to write, such as ${file}; it must not exist`)
    .option("--force", "overwrite the file")
    .option("--store <name>", "ArtifactStore that gets a copy of the result")
    .option("--name <name>", "name of the object; default: made of your text and flags")
    .addOption(new Option("--again", "pay for another result, although one of the same text exists").conflicts("name"))
    .option("--keep", "keep the object; default: it is deleted a day after its end")
    .addOption(new Option("--rm", "delete the object when the file is written").conflicts("keep"))
    .option("--timeout <duration>", "how long to wait for the result, such as 10m", "30m");
}

/** Spec fields that the flags set for every job. */
export function commonSpec({ store, ...flags }: OneShotFlags) {
  const ref = accountRef(flags);
  return {
    ...(ref === undefined ? {} : { accountRef: ref }),
    ...(store === undefined ? {} : { output: { storeRef: { name: store } } }),
  };
}

/** The text of the user; `-` reads it from standard input. */
export async function textArgument(argument: string): Promise<string> {
  return argument === "-" ? (await text(process.stdin)).trimEnd() : argument;
}

/** Runs the job and sets the exit code. */
export async function runCommand(resource: Resource, flags: OneShotFlags, spec: OneShot["spec"]): Promise<void> {
  const timeoutMs = parseDuration(flags.timeout);
  const ending = new AbortController();
  const interrupt = () => ending.abort();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, interrupt);
  const cancel = systemClock.setTimeout(interrupt, timeoutMs);
  try {
    const { kind, message } = await withCluster(flags, ({ kube, namespace }) =>
      runOneShot(
        { kube, clock: systemClock, progress: createProgress(process.stderr), say, signal: ending.signal },
        {
          resource,
          namespace,
          spec,
          name: flags.name,
          again: flags.again === true,
          keep: flags.keep ? "Always" : flags.rm ? "UntilWritten" : "Day",
          file: flags.output,
          overwrite: flags.force === true,
        },
      ),
    );
    say(message);
    process.exitCode = EXIT_CODES[kind];
  } finally {
    cancel();
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, interrupt);
  }
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
