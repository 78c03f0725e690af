import { access, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Command, Option } from "commander";
import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import { gpuEndpointResource } from "../../api/v1alpha1/kinds.ts";
import { endpointIDsOf } from "../../controllers/gpu-endpoint/claims.ts";
import { isForbidden } from "../../kube/errors.ts";
import {
  type AccountFlags,
  addAccountOptions,
  addGenerationOption,
  lazyCluster,
  listPatiently,
  type OpenCluster,
  openAccount,
} from "../account-source.ts";
import { exitCodesHelp } from "../exit-codes.ts";
import { type EnvMode, envModes } from "./import/env.ts";
import { gatherEndpoints } from "./import/gather.ts";
import { type ImportedEndpoint, importedEndpoints } from "./import/manifest.ts";
import { importReport, REPORT_FORMATS, type ReportFormat } from "./import/report.ts";

type ImportFlags = AccountFlags & {
  keyword?: string;
  endpointId: string[];
  out: string;
  output?: ReportFormat;
  force?: boolean;
  env: EnvMode;
  managementPolicy: GpuEndpoint["spec"]["managementPolicy"];
  deletionPolicy: GpuEndpoint["spec"]["deletionPolicy"];
  includeManaged?: boolean;
};

const NOT_WRITTEN = 3;

const HELP = `
Examples:
  mooring import --cluster-account default --out endpoints/
  mooring import --account default -n team-a --env omit --endpoint-id a8c3b7cf3c25632b

`;

/** `mooring import`: writes a manifest for every endpoint that an account has. */
export function registerImportCommand(program: Command): void {
  const command = program
    .command("import")
    .description("write a manifest for each existing endpoint of an account; changes nothing at the service");
  addGenerationOption(addAccountOptions(command))
    .option("--keyword <text>", "only endpoints that the service finds by this keyword")
    .option("--endpoint-id <id>", "only this endpoint; may be repeated", append, [])
    .option("--out <dir>", "directory for one file per object, or - for standard output", "-")
    .addOption(
      new Option(
        "-o, --output <format>",
        "also print what was written: table, json, yaml, or name; needs a directory in --out",
      ).choices(REPORT_FORMATS),
    )
    .option("--force", "overwrite existing files")
    .addOption(
      new Option(
        "--env <how>",
        "where environment values go: into a separate Secret, inline, or nowhere (they stay at the service)",
      )
        .choices(envModes)
        .default("secret"),
    )
    .addOption(policy("--management-policy <policy>", ["Observe", "Full"], "Observe"))
    .addOption(policy("--deletion-policy <policy>", ["Retain", "ScaleToZero", "Delete"], "Retain"))
    .option("--include-managed", "also endpoints that a GpuEndpoint of the cluster is already bound to")
    .addHelpText("after", HELP + exitCodesHelp("import"))
    .action(async (flags: ImportFlags) => {
      if (flags.output !== undefined && flags.out === "-") {
        return command.error(
          "--output prints to standard output, where --out - writes the manifests: name a directory in --out",
        );
      }
      process.exitCode = await run(flags);
    });
}

function policy(flags: string, choices: string[], fallback: string): Option {
  const field = flags.startsWith("--management") ? "managementPolicy" : "deletionPolicy";
  return new Option(flags, `spec.${field} of the manifests`).choices(choices).default(fallback);
}

async function run(flags: ImportFlags): Promise<number> {
  const cluster = lazyCluster(flags, process.env);
  try {
    const { ref, session } = await openAccount(flags, process.env, cluster.open);
    try {
      const { records, warning } = await gatherEndpoints({
        endpoints: session.endpoints,
        keyword: flags.keyword ?? "",
        signal: new AbortController().signal,
        ...(flags.endpointId.length === 0 ? {} : { ids: flags.endpointId }),
      });
      if (warning !== undefined) say(`warning: ${warning}`);
      // Without an account object there need not be a cluster to ask.
      const objects = ref === undefined ? [] : await clusterEndpoints(await cluster.open());
      const managed = new Set(objects.flatMap(endpointIDsOf));
      if (flags.includeManaged && ref === undefined) say(`warning: ${BLIND}`);
      const all = records.filter(({ id }) => flags.includeManaged || !managed.has(id));
      const inNamespace = flags.namespace === undefined && ref?.kind === "Account";
      const namespace = inNamespace ? (await cluster.open()).namespace : flags.namespace;
      const existing = byEndpointID(objects);
      const wanted = all.filter(({ id }) => !isElsewhere(existing.get(id), namespace));
      const ids = new Set(wanted.map(({ id }) => id));
      const others = objects.filter((object) => !endpointIDsOf(object).some((id) => ids.has(id)));
      for (const { id } of all) if (!ids.has(id)) say(elsewhere(id, existing.get(id)));
      const imported = importedEndpoints(wanted, {
        accountRef: ref,
        env: flags.env,
        managementPolicy: flags.managementPolicy,
        deletionPolicy: flags.deletionPolicy,
        namespace,
        existing,
        reservedNames: others
          .filter(({ metadata }) => metadata.namespace === namespace)
          .map(({ metadata }) => metadata.name),
      });
      await write(imported, flags);
      if (flags.output !== undefined) process.stdout.write(importReport(imported, flags.output));
      return report(imported, records.length - all.length, flags.out);
    } finally {
      await session.close();
    }
  } finally {
    await cluster.close();
  }
}

const BLIND =
  "no cluster is asked, so a manifest may be a second GpuEndpoint of an endpoint; the operator stalls it (AlreadyBound)";

/** The object of each endpoint: the one that is bound to it, else one that is to adopt it. */
function byEndpointID(objects: readonly GpuEndpoint[]): Map<string, GpuEndpoint> {
  const found = new Map<string, GpuEndpoint>();
  for (const object of objects) {
    for (const id of endpointIDsOf(object)) {
      if (!found.has(id) || object.status?.endpointID === id) found.set(id, object);
    }
  }
  return found;
}

function isElsewhere(object: GpuEndpoint | undefined, namespace: string | undefined): boolean {
  return object !== undefined && namespace !== undefined && object.metadata.namespace !== namespace;
}

function elsewhere(id: string, object: GpuEndpoint | undefined): string {
  const { namespace, name } = object?.metadata ?? {};
  return `endpoint ${id}: GpuEndpoint ${namespace}/${name} already has it: not written; import it with --namespace ${namespace}`;
}

/** The objects that may own endpoints; only those of the namespace if the user may not list others. */
async function clusterEndpoints({ kube, namespace }: OpenCluster): Promise<GpuEndpoint[]> {
  return listPatiently<GpuEndpoint>(kube, gpuEndpointResource).catch((error: unknown) => {
    if (!isForbidden(error)) throw error;
    say(`warning: GpuEndpoints of other namespaces than ${namespace} may not be listed, so theirs are imported too`);
    return listPatiently<GpuEndpoint>(kube, gpuEndpointResource, namespace);
  });
}

async function write(imported: readonly ImportedEndpoint[], { out, force }: ImportFlags): Promise<void> {
  // The Secret's file sorts first, and kubectl applies a directory in that order.
  const files = imported.flatMap(({ file, endpoint, secret }) => [
    ...(secret === undefined ? [] : [{ path: join(out, `${file}-env.secret.yaml`), text: secret, mode: 0o600 }]),
    ...(endpoint === undefined ? [] : [{ path: join(out, `${file}.yaml`), text: endpoint, mode: 0o644 }]),
  ]);
  if (out === "-") {
    process.stdout.write(files.map(({ text }) => text).join("---\n"));
    return;
  }
  await mkdir(out, { recursive: true });
  for (const { path } of files) {
    if (!force && (await exists(path))) throw new Error(`${path} exists: move it away, or overwrite it with --force`);
  }
  for (const { path, text, mode } of files) await writeFile(path, text, { mode });
}

function report(imported: readonly ImportedEndpoint[], skipped: number, out: string): number {
  for (const { problems } of imported) for (const problem of problems) say(problem);
  const written = imported.filter(({ endpoint }) => endpoint !== undefined);
  const secrets = written.filter(({ secret }) => secret !== undefined).length;
  const missing = imported.length - written.length;
  say(
    [
      `${written.length} written${out === "-" ? "" : ` to ${out}`}`,
      ...(secrets === 0 ? [] : [`${secrets} with a Secret`]),
      ...(missing === 0 ? [] : [`${missing} not written`]),
      ...(skipped === 0 ? [] : [`${skipped} left out that the cluster manages already (--include-managed)`]),
    ].join(", "),
  );
  return missing === 0 ? 0 : NOT_WRITTEN;
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function append(value: string, values: string[]): string[] {
  return [...values, value];
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
