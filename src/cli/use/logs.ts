import { type Command, Option } from "commander";
import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import { gpuEndpointResource, KINDS } from "../../api/v1alpha1/kinds.ts";
import { accountOfResources } from "../../controllers/account/binding.ts";
import { keyOf } from "../../kube/types.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import { addClusterOptions, type ClusterFlags, type OpenCluster, withCluster } from "../account-source.ts";
import { connectAccount } from "../connect-account.ts";
import { exitCodesHelp } from "../exit-codes.ts";
import { objectWords, readNamed } from "../object-argument.ts";
import { documentOf, tableOf } from "../table.ts";

const FORMATS = ["text", "json", "yaml"] as const;
type LogsFlags = ClusterFlags & { output: (typeof FORMATS)[number] };

const READ_MS = 30_000;
const ENDPOINT_KINDS = KINDS.filter(({ resource }) => resource === gpuEndpointResource);
const HELP = `
Reads the endpoint once at the service, with the key of its account, which you must be able to read. Prints the state of each
worker and the address of its log, as the service returns it. This is free. status.workers.items has the same, but an address
that the service signs may have expired there.

Examples:
  mooring logs echo
  mooring logs echo -n team-a -o json

`;

/** `mooring logs`: states and log addresses of the workers of an endpoint. */
export function registerLogsCommand(program: Command): void {
  const command = program
    .command("logs")
    .description("show the state and the log address of each worker of an endpoint")
    .argument("<endpoint...>", "the GpuEndpoint");
  addClusterOptions(command)
    .addOption(new Option("-o, --output <format>", "text, json or yaml").choices(FORMATS).default("text"))
    .addHelpText("after", HELP + exitCodesHelp("logs"))
    .action(async (words: string[], flags: LogsFlags) => {
      const shown = logsOf(await withCluster(flags, (cluster) => readRemote(cluster, words)));
      process.stdout.write(flags.output === "text" ? text(shown) : documentOf(shown, flags.output));
    });
}

type Remote = { endpoint: string; record: EndpointRecord };

/** @throws Error of one line: nothing is at the service */
async function readRemote(opened: OpenCluster, words: readonly string[]): Promise<Remote> {
  const { object } = await readNamed<GpuEndpoint>(opened, objectWords(words, ENDPOINT_KINDS), ENDPOINT_KINDS);
  const endpoint = `GpuEndpoint ${keyOf(object)}`;
  const { endpointID } = object.status ?? {};
  if (!endpointID) throw new Error(`${endpoint} is bound to no endpoint at the service yet: mooring explain shows why`);
  const { session } = await connectAccount(opened.kube, object.metadata.namespace, accountOfResources(object));
  try {
    const record = await session.endpoints.read(endpointID, AbortSignal.timeout(READ_MS));
    if (record !== undefined) return { endpoint, record };
    throw new Error(`${endpoint}: the service does not show endpoint ${endpointID}`);
  } finally {
    await session.close();
  }
}

/** What the service shows of an endpoint and its workers. "": it shows nothing. */
export type EndpointLogs = {
  endpoint: string;
  id: string;
  state: string;
  /** Why it is in this state, in the words of the service. */
  problem: string;
  log: string;
  workers: {
    id: string;
    state: string;
    problem: string;
    healthy: boolean | undefined;
    draining: boolean | undefined;
    log: string;
  }[];
};

export function logsOf({ endpoint, record: { id, status, details, workers } }: Remote): EndpointLogs {
  return {
    endpoint,
    id,
    state: status.status,
    problem: problemOf(status),
    log: details?.log ?? "",
    workers: workers.map(({ id: worker, status: own, healthy, draining, log }) => ({
      id: worker,
      state: own.status,
      problem: problemOf(own),
      healthy,
      draining,
      log,
    })),
  };
}

const problemOf = ({ error, message }: EndpointRecord["status"]) =>
  [error, message].filter((one) => one !== "").join(": ");

export function text({ endpoint, id, state, problem, log, workers }: EndpointLogs): string {
  const head = `${endpoint} (${id}): ${state}${problem === "" ? "" : `, ${problem}`}\n`;
  const own = log === "" ? "" : `Log of the endpoint: ${log}\n`;
  if (workers.length === 0) return `${head}${own}no worker runs\n`;
  const word = (value: boolean | undefined) => (value === undefined ? "-" : value ? "yes" : "no");
  const rows = workers.map((worker) => [
    worker.id,
    worker.state,
    word(worker.healthy),
    word(worker.draining),
    worker.log || "-",
    worker.problem,
  ]);
  return `${head}${own}${tableOf(["WORKER", "STATE", "HEALTHY", "DRAINING", "LOG", "PROBLEM"], rows)}`;
}
