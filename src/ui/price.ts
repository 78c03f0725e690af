import type { GpuEndpoint } from "../api/v1alpha1/gpu-endpoint.ts";
import { accountResource, clusterAccountResource, gpuEndpointResource, KINDS } from "../api/v1alpha1/kinds.ts";
import { accountToUse } from "../controllers/account/binding.ts";
import type { Job } from "../controllers/jobs/types.ts";
import { readerWithout, StalledError } from "../controllers/references.ts";
import { costOfEndpoint, costOfJob, type ReadableAccount } from "../describe/cost.ts";
import type { ClusterSession } from "./cluster-session.ts";
import { JOB_KINDS } from "./row.ts";
import type { ManifestView } from "./view-types.ts";

/** The page reads no Secrets, ConfigMaps and objects of stores for a price: that of a text in one is not known. */
const NOTHING_READ = readerWithout(new StalledError("ReadForbidden", "not read for a price"));

/** The manifest with its price in yuan, where the service's bills have shown one and the manifest has no problems. */
export async function withPrice(session: ClusterSession, view: ManifestView): Promise<ManifestView> {
  if (view.object === undefined || view.problems.length > 0) return view;
  // Without problems, it has what its kind needs; the schema adds the defaults.
  const manifest = view.object as Job | GpuEndpoint;
  const { kind = "" } = manifest;
  const definition = KINDS.find(({ resource }) => resource.kind === kind);
  const object = { ...manifest, spec: definition?.spec.parse(manifest.spec) };
  const cost = JOB_KINDS.includes(kind)
    ? await costOfJob(object as Job, accountOf(session, object as Job), NOTHING_READ)
    : kind === gpuEndpointResource.kind
      ? costOfEndpoint(object as GpuEndpoint, accountOf(session, object as GpuEndpoint))
      : undefined;
  return cost === undefined ? view : { ...view, price: { amount: cost.estimatedCost, per: cost.per } };
}

/** As the operator chooses it: the one that is named, else the default account. */
function accountOf(session: ClusterSession, object: Job | GpuEndpoint): ReadableAccount {
  const { namespace = "" } = object.metadata;
  const named = accountToUse(object);
  const candidates = named === undefined ? [accountResource.kind, clusterAccountResource.kind] : [named.kind];
  for (const kind of candidates) {
    const place = kind === accountResource.kind ? namespace : "";
    const account = session.find({ kind, namespace: place, name: named?.name ?? "default" })?.object;
    if (account?.spec.speech !== undefined) return { spec: { speech: account.spec.speech }, status: account.status };
  }
  return undefined;
}
