import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { KINDS } from "../../src/api/v1alpha1/kinds.ts";
import { createKubeClient, type KubeClient } from "../../src/kube/client.ts";
import { loadCredentials } from "../../src/kube/credentials.ts";
import { namespaceResource } from "../../src/kube/resource.ts";
import { createStage, type Stage } from "../sim/stage/stage.ts";
import { apiOf } from "../sim/transitions/admission.ts";
import { basesOf, baseWith, specFor } from "../sim/transitions/bases.ts";
import { surprises } from "../sim/transitions/drive.ts";
import { withValue } from "../sim/transitions/paths.ts";
import { fieldsOf, specSchemaOf } from "../sim/transitions/schema.ts";
import { candidatesOf } from "../sim/transitions/values.ts";

const namespace = `admitted-${randomBytes(4).toString("hex")}`;
const BASES = basesOf({ namespace: "team", simulator: { url: "http://127.0.0.1:9" } });
let kube: KubeClient;
let stage: Stage;

beforeAll(async () => {
  kube = createKubeClient(await loadCredentials({ kubeconfig: inject("kubeconfig") }));
  await kube.create(namespaceResource, {}, { metadata: { name: namespace }, spec: undefined });
  stage = await createStage({ account: null });
});
afterAll(async () => {
  await kube.delete(namespaceResource, { name: namespace });
  await Promise.all([kube.close(), stage.end()]);
});

// The simulation takes objects through these values (test/sim/transitions), with an API server that evaluates no CEL rule.
it.each(KINDS.map(({ resource }) => resource))(
  "$kind: a real API server refuses the values that the one of the simulation refuses, and no other",
  async ({ kind, namespaced }) => {
    const real = apiOf({ kube, namespace }, kind, { dryRun: "All" });
    const memory = apiOf(stage, kind);
    const bases = BASES.filter((base) => base.kind === kind);
    // Operators of other tests work on objects without a namespace.
    if (namespaced) {
      for (const { name, spec } of bases) await apiOf({ kube, namespace }, kind).create(name, specFor(spec, name));
    }
    const counts = { Applied: 0, Rejected: 0, Immutable: 0 };
    const wrong: string[] = [];
    let serial = 0;
    for (const field of fieldsOf(specSchemaOf(kind))) {
      const base = baseWith(bases, field.path);
      if (base === undefined) throw new Error(`no base has the parent of ${field.path}`);
      for (const candidate of candidatesOf(kind, field, base.spec)) {
        const shown = `${field.path}: ${JSON.stringify(candidate.value)?.slice(0, 60) ?? "absent"}`;
        const changed = withValue(base.spec, field.path, candidate.value);
        const [created, updated] = [`created-${++serial}`, `updated-${serial}`];
        const pairs = [
          [
            await real.create(created, specFor(changed, created)),
            await memory.create(created, specFor(changed, created)),
          ],
        ];
        if (namespaced) {
          await memory.create(updated, specFor(base.spec, base.name));
          const spec = specFor(changed, base.name);
          pairs.push([await real.update(base.name, spec), await memory.update(updated, spec)]);
        }
        for (const [ofReal, ofMemory] of pairs) {
          if (ofReal === undefined || ofMemory === undefined) continue;
          counts[ofReal.kind] += 1;
          wrong.push(...surprises(candidate, ofReal).map((line) => `${shown} ${line}`));
          if (ofReal.kind === ofMemory.kind) continue;
          const message = [ofReal, ofMemory].map((one) => ("message" in one ? one.message : "")).join(" / ");
          wrong.push(`${shown} is ${ofReal.kind}, in memory ${ofMemory.kind}: ${message}`);
        }
      }
    }
    console.log(`${kind}: ${JSON.stringify(counts)}`);
    expect(wrong.join("\n")).toBe("");
  },
);
