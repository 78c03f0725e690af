// One informer in a process of its own, for bench/chaos.ts: told by environment, asked through IPC.
import { CoreV1Api, KubeConfig, makeInformer, type V1ConfigMap } from "@kubernetes/client-node";
import { pino } from "pino";
import { systemClock } from "../src/base/clock.ts";
import { createKubeClient } from "../src/kube/client.ts";
import { configMapResource } from "../src/kube/resource.ts";
import type { KubeObject } from "../src/kube/types.ts";
import { createInformer } from "../src/runtime/informer.ts";
import { createSightings, type Sightings } from "../tools/chaos/chaos-scenario.ts";
import { anonymous } from "../tools/cluster/credentials.ts";

export type Question = "memory" | "sightings";
export type Answer =
  | { kind: "ready" }
  | { kind: "memory"; residentBytes: number; heapBytes: number }
  | { kind: "sightings"; sightings: Sightings };

/** What the process can be, by its first argument. */
const subjects: Record<string, (server: string, namespace: string) => Promise<() => Sightings>> = {
  mooring,
  "client-node-restarted": (server, namespace) => clientNode(server, namespace, true),
  "client-node-plain": (server, namespace) => clientNode(server, namespace, false),
};

async function mooring(server: string, namespace: string): Promise<() => Sightings> {
  const sightings = createSightings();
  const informer = createInformer({
    client: createKubeClient(anonymous(server)),
    resource: configMapResource,
    namespaces: [namespace],
    clock: systemClock,
    random: Math.random,
    log: pino({ level: "silent" }),
  });
  informer.onChange((change) => {
    if (change.type === "Deleted") sightings.gone(change.object);
    else sightings.shown(change.object);
  });
  await informer.start(new AbortController().signal);
  return () => sightings.report(informer.store.list());
}

/** @param restart as in its documentation: started again 5 s after an error */
async function clientNode(server: string, namespace: string, restart: boolean): Promise<() => Sightings> {
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: "chaos", server, skipTLSVerify: true }, { name: "chaos" });
  const api = config.makeApiClient(CoreV1Api);
  const informer = makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, () =>
    api.listNamespacedConfigMap({ namespace }),
  );
  const sightings = createSightings();
  const named = ({ metadata = {} }: V1ConfigMap): KubeObject => {
    const { name = "", uid = "", resourceVersion = "" } = metadata;
    return { metadata: { name, uid, resourceVersion }, spec: undefined };
  };
  informer.on("add", (object) => sightings.shown(named(object)));
  informer.on("update", (object) => sightings.shown(named(object)));
  informer.on("delete", (object) => sightings.gone(named(object)));
  informer.on("error", () => {
    if (restart) setTimeout(() => void informer.start(), 5_000);
  });
  await informer.start();
  return () => sightings.report(informer.list(namespace).map(named));
}

const [name = "", server = "", namespace = ""] = process.argv.slice(2);
const subject = subjects[name];
if (subject === undefined) throw new Error(`no subject "${name}"; there are ${Object.keys(subjects).join(", ")}`);
const tell = (answer: Answer) => process.send?.(answer);
const report = await subject(server, namespace);
process.on("message", (question: Question) => {
  if (question === "sightings") tell({ kind: "sightings", sightings: report() });
  else {
    globalThis.gc?.();
    const { rss, heapUsed } = process.memoryUsage();
    tell({ kind: "memory", residentBytes: rss, heapBytes: heapUsed });
  }
});
process.on("disconnect", () => process.exit(0));
tell({ kind: "ready" });
