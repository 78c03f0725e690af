/**
 * A controller of GpuEndpoints as one writes it with the informer of @kubernetes/client-node. It does what the other peers do: creates
 * the remote endpoint, reads it and writes the status. It has no journal.
 * Run: main.ts --kubeconfig FILE --base URL [--workers 64] [--finalizer true] [--resync 60]
 */
import { isDeepStrictEqual, parseArgs } from "node:util";
import { CustomObjectsApi, makeInformer, PatchStrategy, setHeaderOptions } from "@kubernetes/client-node";
import { type GpuEndpoint, statusOf } from "./gpu-endpoint.ts";
import { PooledKubeConfig } from "./pooled-kube-config.ts";
import { createQueue } from "./queue.ts";
import { createRemote } from "./remote.ts";

const RESOURCE = { group: "mooring.dev", version: "v1alpha1", plural: "gpuendpoints" };
const FINALIZER = "bench.example.com/f";
const RETRY_MS = 1_000;

const { values } = parseArgs({
  options: {
    kubeconfig: { type: "string", default: "" },
    base: { type: "string", default: "http://127.0.0.1:18080" },
    workers: { type: "string", default: "64" },
    finalizer: { type: "string", default: "true" },
    resync: { type: "string", default: "60" },
  },
});
const useFinalizer = values.finalizer === "true";
const resyncMs = Number(values.resync) * 1_000;

const kubeConfig = new PooledKubeConfig();
kubeConfig.loadFromFile(values.kubeconfig);
const api = kubeConfig.makeApiClient(CustomObjectsApi);
const remote = createRemote(values.base);
const mergePatch = setHeaderOptions("Content-Type", PatchStrategy.MergePatch);

const informer = makeInformer<GpuEndpoint>(
  kubeConfig,
  `/apis/${RESOURCE.group}/${RESOURCE.version}/${RESOURCE.plural}`,
  () => api.listClusterCustomObject(RESOURCE),
);
const queue = createQueue(Number(values.workers), work);
/** IDs of endpoints by UID: the informer may lag behind the status. */
const created = new Map<string, string>();
const timers = new Map<string, NodeJS.Timeout>();

for (const event of ["add", "update"] as const) {
  informer.on(event, ({ metadata }) => queue.add(`${metadata?.namespace}/${metadata?.name}`));
}
informer.on("delete", ({ metadata }) => {
  const key = `${metadata?.namespace}/${metadata?.name}`;
  clearTimeout(timers.get(key));
  timers.delete(key);
  created.delete(metadata?.uid ?? "");
});
informer.on("error", (error: unknown) => {
  console.error("the watch ended:", error);
  setTimeout(() => void informer.start(), RETRY_MS);
});
await informer.start();

async function work(key: string): Promise<void> {
  try {
    if (await reconcile(key)) addLater(key, resyncMs);
  } catch (error) {
    console.error(`${key}:`, error);
    addLater(key, RETRY_MS);
  }
}

function addLater(key: string, ms: number): void {
  clearTimeout(timers.get(key));
  timers.set(
    key,
    setTimeout(() => queue.add(key), ms),
  );
}

/** Returns whether to look again after a while. */
async function reconcile(key: string): Promise<boolean> {
  const [namespace = "", name = ""] = key.split("/");
  const cached = informer.get(name, namespace);
  if (cached === undefined) return false;
  const place = { ...RESOURCE, namespace, name };
  const { uid = "", finalizers = [] } = cached.metadata ?? {};
  if (cached.metadata?.deletionTimestamp !== undefined) {
    const others = finalizers.filter((one) => one !== FINALIZER);
    if (others.length < finalizers.length) await replaceFinalizers(cached, others);
    return false;
  }
  if (useFinalizer && !finalizers.includes(FINALIZER)) await replaceFinalizers(cached, [...finalizers, FINALIZER]);

  let id = cached.status?.endpointID ?? created.get(uid);
  if (id === undefined) {
    id = await remote.create({ name, ...cached.spec });
    created.set(uid, id);
  }
  const url = await remote.url(id);
  const status = statusOf(cached, { baseURL: values.base, id, url });
  if (!isDeepStrictEqual(status, cached.status)) {
    await api.patchNamespacedCustomObjectStatus({ ...place, body: { status } }, mergePatch);
  }
  return true;
}

async function replaceFinalizers(endpoint: GpuEndpoint, finalizers: string[]): Promise<void> {
  const { namespace = "", name = "" } = endpoint.metadata ?? {};
  const body = { ...endpoint, metadata: { ...endpoint.metadata, finalizers } };
  await api.replaceNamespacedCustomObject({ ...RESOURCE, namespace, name, body });
}
