import { createHash } from "node:crypto";
import type { Logger } from "pino";
import { systemClock } from "../../src/base/clock.ts";
import type { KubeClient } from "../../src/kube/client.ts";
import { configMapResource } from "../../src/kube/resource.ts";
import { type KubeObject, keyOf } from "../../src/kube/types.ts";
import { createController } from "../../src/runtime/controller.ts";
import { createInformer } from "../../src/runtime/informer.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";

type ConfigMap = KubeObject & { data?: Record<string, string> };
const ANNOTATION = "example.com/sha256";

/** Keeps an annotation with the hash of its data on every ConfigMap that is labelled example.com/hashed=true. */
export async function runHashController(client: KubeClient, namespaces: string[], log: Logger, stop: AbortSignal) {
  const parts = { clock: systemClock, random: Math.random, log };
  const selector = { labelSelector: "example.com/hashed=true" };
  const configMaps = createInformer<ConfigMap>({ ...parts, client, resource: configMapResource, namespaces, selector });

  const controller = createController({
    ...parts,
    name: "hash",
    maxConcurrentReconciles: 4,
    deadlineMs: 30_000,
    metrics: createMetrics(),
    async reconcile({ key, namespace, name }, { signal }) {
      const configMap = configMaps.store.get(key);
      if (configMap === undefined) return undefined; // gone: nothing is left to do
      const hash = createHash("sha256")
        .update(JSON.stringify(configMap.data ?? {}))
        .digest("hex");
      const { annotations, resourceVersion } = configMap.metadata;
      if (annotations?.[ANNOTATION] === hash) return undefined; // level-triggered: as it should be
      const patch = { metadata: { resourceVersion, annotations: { [ANNOTATION]: hash } } };
      const place = { namespace, name };
      configMaps.store.observeWrite(await client.mergePatch<ConfigMap>(configMapResource, place, patch, { signal }));
      return undefined;
    },
  });
  configMaps.onChange(({ object }) => controller.enqueue(keyOf(object)));
  await configMaps.start(stop);
  controller.start();
  return () => controller.stop(AbortSignal.timeout(10_000));
}
