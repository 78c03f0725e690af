import type { Binaries } from "./binaries.ts";
import type { Running } from "./run-binaries.ts";

/** What a provider may use of the machine. */
export type ProviderContext = {
  /** Environment variables. */
  env: Readonly<Record<string, string | undefined>>;
  /** Where what was built or downloaded is kept; may not exist yet. */
  cache: string;
  /** Says what takes a while, a line at a time. */
  log: (line: string) => void;
  signal: AbortSignal | undefined;
};

/**
 * What a provider has: programs to run, a whole cluster (already running), or nothing, with the reason. A reason is one line, fit for
 * "name: reason".
 */
export type Finding =
  | { kind: "binaries"; binaries: Binaries }
  | { kind: "cluster"; cluster: Running }
  | { kind: "nothing"; reason: string };

/**
 * One place where a control plane may come from. `find` rejects only when going on would be wrong: the user asked for exactly this
 * place and it does not work.
 */
export type Provider = {
  name: string;
  /** Asked only when no other provider has any programs. */
  lastResort?: true;
  find(context: ProviderContext): Promise<Finding>;
};

export function nothing(reason: string): Finding {
  return { kind: "nothing", reason };
}
