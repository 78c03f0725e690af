import { spawn } from "node:child_process";
import { once } from "node:events";
import { type Command, InvalidArgumentError, Option } from "commander";
import { gpuEndpointResource, JOB_KINDS, KINDS } from "../../api/v1alpha1/kinds.ts";
import type { JobStatus } from "../../controllers/jobs/types.ts";
import type { AnyObject } from "../../describe/object-state.ts";
import { keyOf } from "../../kube/types.ts";
import { addClusterOptions, type ClusterFlags, withCluster } from "../account-source.ts";
import { exitCodesHelp } from "../exit-codes.ts";
import { type FoundObject, OBJECT_HELP, objectWords, readNamed } from "../object-argument.ts";
import { clusterAddressHint } from "./one-shot/cluster-address.ts";

type OpenFlags = ClusterFlags & { result: number; print?: boolean };

const OPENABLE = KINDS.filter((kind) => kind.resource === gpuEndpointResource || JOB_KINDS.includes(kind));
const HELP = `
Opens the URL of a job's result, or of an endpoint, and prints it. For a web page of all objects, see mooring ui.

Examples:
  mooring open speechjob/greeting -n team-a
  mooring open echo --print

`;

/** `mooring open`: a result or an endpoint in the browser. */
export function registerOpenCommand(program: Command): void {
  const command = program
    .command("open")
    .description("open the result of a job, or the URL of an endpoint, in your browser")
    .argument("<object...>", OBJECT_HELP);
  addClusterOptions(command)
    .addOption(new Option("--result <number>", "which result of a job, from 1").argParser(positive).default(1))
    .option("--print", "only print the URL")
    .addHelpText("after", HELP + exitCodesHelp("open"))
    .action(async (words: string[], flags: OpenFlags) => {
      const named = objectWords(words, OPENABLE);
      const found = await withCluster(flags, (cluster) => readNamed<AnyObject>(cluster, named, OPENABLE));
      const url = urlOf(found, flags.result, Date.now());
      process.stdout.write(`${url}\n`);
      if (!flags.print) await openInBrowser(url);
    });
}

/** The URL to open. `now`: ms since the epoch. @throws Error of one line: there is none, or it has expired */
export function urlOf({ resource, object }: FoundObject<AnyObject>, number: number, now: number): string {
  const what = `${resource.kind} ${keyOf(object)}`;
  if (resource === gpuEndpointResource) {
    const { url } = object.status ?? {};
    if (url) return webAddress(url, what);
    throw new Error(`${what} has no URL yet: mooring explain shows what it waits for`);
  }
  const { phase = "Pending", results = [] } = (object.status ?? {}) as Partial<JobStatus>;
  const result = results[number - 1];
  if (result === undefined) {
    throw new Error(`${what} is ${phase} and has no result${results.length === 0 ? "" : ` ${number}`}`);
  }
  const { url, artifact, expiresAt } = result;
  const copy = artifact === undefined ? "" : `; a copy is at ${artifact.uri}`;
  if (url === undefined) throw new Error(`${what} shows no URL of its result${copy}`);
  if (expiresAt !== undefined && Date.parse(expiresAt) <= now) {
    throw new Error(`the URL of the result of ${what} expired at ${expiresAt}${copy}`);
  }
  const hint = clusterAddressHint(url, "result");
  if (hint !== undefined) throw new Error(`${url}: ${hint}`);
  return webAddress(url, what);
}

/** A URL comes from the service: another protocol could start any program. */
function webAddress(url: string, what: string): string {
  const parsed = URL.parse(url);
  if (parsed?.protocol === "http:" || parsed?.protocol === "https:") return parsed.href;
  throw new Error(`${what} has the address ${JSON.stringify(url)}, which is not http or https: it is not opened`);
}

const OPENERS: Partial<Record<NodeJS.Platform, [string, ...string[]]>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** @throws Error of one line when no program opens it */
async function openInBrowser(url: string): Promise<void> {
  const [program, ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  const child = spawn(program, [...args, url], { stdio: "ignore", detached: true });
  await once(child, "spawn").catch((cause: unknown) => {
    throw new Error(`${program} is not on this machine: open the URL yourself`, { cause });
  });
  child.unref();
}

function positive(value: string): number {
  if (!/^[1-9]\d*$/.test(value)) throw new InvalidArgumentError("must be an integer, 1 or more");
  return Number(value);
}
