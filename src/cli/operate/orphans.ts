import { type Command, Option } from "commander";
import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import { gpuEndpointResource } from "../../api/v1alpha1/kinds.ts";
import { oneLine } from "../../base/manifest-yaml.ts";
import { knownEndpoints } from "../../controllers/gpu-endpoint/orphans.ts";
import { namespaceResource } from "../../kube/resource.ts";
import {
  type AccountFlags,
  addAccountOptions,
  addGenerationOption,
  lazyCluster,
  listPatiently,
  openAccount,
} from "../account-source.ts";
import { exitCodesHelp } from "../exit-codes.ts";
import { age, itemsOf, tableOf } from "../table.ts";
import { type UnclaimedEndpoint, unclaimedEndpoints } from "./unclaimed-endpoints.ts";

const FORMATS = ["table", "wide", "json", "yaml", "name"] as const;
type OrphansFlags = AccountFlags & { keyword?: string; output: (typeof FORMATS)[number]; exitCode?: boolean };

const FOUND = 3;
const HELP = `
Changes and deletes nothing. GENERATED is yes if the app name has the form that Mooring generates: an operator of this
cluster, or of another one that uses the same account, created the endpoint.

Examples:
  mooring orphans --cluster-account default
  mooring orphans -n team-a --exit-code -o name

`;

/** `mooring orphans`: lists the endpoints of an account that no GpuEndpoint of the cluster is bound to. */
export function registerOrphansCommand(program: Command): void {
  const command = program
    .command("orphans")
    .description("list orphaned endpoints: endpoints of an account that no GpuEndpoint of the cluster is bound to");
  addGenerationOption(addAccountOptions(command))
    .option("--keyword <text>", "only endpoints that the service finds by this keyword")
    .addOption(
      new Option("-o, --output <format>", "table, wide (with URL), json, yaml, or name (one ID per line)")
        .choices(FORMATS)
        .default("table"),
    )
    .option("--exit-code", `exit with ${FOUND} if there are orphans`)
    .addHelpText("after", HELP + exitCodesHelp("orphans"))
    .action(async (flags: OrphansFlags) => {
      process.exitCode = await run(flags);
    });
}

async function run(flags: OrphansFlags): Promise<number> {
  const cluster = lazyCluster(flags, process.env);
  try {
    const { kube } = await cluster.open();
    const { session } = await openAccount(flags, process.env, cluster.open);
    try {
      const records = await session.endpoints.list(flags.keyword ?? "", new AbortController().signal);
      // After the service: an object exists before its endpoint, so an endpoint created meanwhile is no orphan. Objects of all
      // namespaces, or endpoints of other teams would look like orphans.
      const objects = await listPatiently<GpuEndpoint>(kube, gpuEndpointResource);
      const { uid = "" } = (await kube.get(namespaceResource, { name: "kube-system" })).metadata;
      const found = unclaimedEndpoints(records, knownEndpoints(objects, uid));
      process.stdout.write(rendered(found, flags.output, Date.now()));
      if (found.length === 0)
        say(`No orphans: ${records.length} endpoints at ${session.baseURL}, each has a GpuEndpoint.`);
      return flags.exitCode && found.length > 0 ? FOUND : 0;
    } finally {
      await session.close();
    }
  } finally {
    await cluster.close();
  }
}

function rendered(found: readonly UnclaimedEndpoint[], format: OrphansFlags["output"], now: number): string {
  switch (format) {
    case "json":
    case "yaml":
      return itemsOf(found, format);
    case "name":
      return found.map(({ id }) => `${id}\n`).join("");
    case "table":
    case "wide":
      return found.length === 0 ? "" : table(found, format === "wide", now);
  }
}

function table(found: readonly UnclaimedEndpoint[], wide: boolean, now: number): string {
  const rows = found.map((endpoint) => [...row(endpoint, now), ...(wide ? [oneLine(endpoint.url) || "<none>"] : [])]);
  return tableOf(wide ? [...HEADINGS, "URL"] : HEADINGS, rows);
}

const HEADINGS = ["ID", "NAME", "APP-NAME", "STATUS", "WORKERS", "GENERATED", "AGE"];

function row({ id, name, appName, status, workers, generated, createdAt }: UnclaimedEndpoint, now: number): string[] {
  const bounds = `${workers.total} (${workers.min ?? "?"}-${workers.max ?? "?"})`;
  const since = createdAt === undefined ? "<unknown>" : age(now - Date.parse(createdAt));
  return [id, name, appName, status, bounds, generated ? "yes" : "no", since].map((cell) => oneLine(cell) || "<none>");
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
