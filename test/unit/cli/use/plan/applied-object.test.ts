import { describe, expect, it } from "vitest";
import { gpuEndpointResource } from "../../../../../src/api/v1alpha1/kinds.ts";
import { afterApply, appliedObject } from "../../../../../src/cli/use/plan/applied-object.ts";
import { KubeError } from "../../../../../src/kube/errors.ts";
import type { KubeObject } from "../../../../../src/kube/types.ts";

type Spec = Record<string, unknown>;
const object = (spec: Spec, last?: Spec): KubeObject => ({
  metadata: {
    name: "echo",
    namespace: "team",
    resourceVersion: "7",
    ...(last === undefined
      ? {}
      : { annotations: { "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify({ spec: last }) } }),
  },
  spec,
});

describe("given an object and a manifest", () => {
  it.each<[string, Spec, Spec | undefined, Spec, Spec]>([
    ["a changed field", { a: 1, b: 2 }, { a: 1 }, { a: 3 }, { a: 3, b: 2 }],
    ["a removed field", { a: 1, b: 2 }, { a: 1, b: 2 }, { a: 1 }, { a: 1 }],
    [
      "a field of another client",
      { a: 1, w: { min: 4, max: 9 } },
      { w: { max: 5 } },
      { w: { max: 5 } },
      { a: 1, w: { min: 4, max: 5 } },
    ],
    [
      "a removed field inside",
      { w: { min: 4, max: 9 } },
      { w: { min: 4, max: 9 } },
      { w: { max: 9 } },
      { w: { max: 9 } },
    ],
    ["a list", { l: [1, 2] }, { l: [1, 2] }, { l: [3] }, { l: [3] }],
    ["no record of an earlier apply", { a: 1, b: 2 }, undefined, { a: 3 }, { a: 3, b: 2 }],
  ])("%s is applied as kubectl does", (_name, live, last, manifest, expected) => {
    expect(afterApply(object(live, last), object(manifest)).spec).toEqual(expected);
  });
});

function kubeThat(write: () => KubeObject, live?: KubeObject) {
  const queries: unknown[] = [];
  const answer = async (_r: unknown, _p: unknown, _b: unknown, options?: { query?: unknown }) => {
    queries.push(options?.query);
    return write() as never;
  };
  const get = async () => {
    if (live === undefined) throw new KubeError("not found", { status: 404, reason: "NotFound" });
    return live as never;
  };
  return { kube: { get, create: answer, update: answer }, queries };
}

const refusal = (status: number, message: string) => () => {
  throw new KubeError(message, { status, reason: "Invalid" });
};

describe("a dry run of the API server", () => {
  it("gives the object with its defaults, and stores nothing", async () => {
    const { kube, queries } = kubeThat(() => object({ a: 1, byDefault: true }));
    const applied = await appliedObject(kube, gpuEndpointResource, object({ a: 1 }));
    expect(applied).toMatchObject({
      kind: "Accepted",
      object: { spec: { byDefault: true } },
      live: undefined,
      checked: true,
    });
    expect(queries).toEqual([{ dryRun: "All" }]);
  });

  it.each([
    ["a rule", 422, "appName cannot be changed"],
    ["a policy", 403, "ValidatingAdmissionPolicy 'x' denied request: no"],
  ])("that ends with the refusal of %s is a conflict", async (_name, status, message) => {
    const { kube } = kubeThat(refusal(status, message), object({ a: 1 }));
    expect(await appliedObject(kube, gpuEndpointResource, object({ a: 2 }))).toEqual({ kind: "Refused", message });
  });

  it("that the user may not ask for is left out", async () => {
    const { kube } = kubeThat(refusal(403, "user cannot update"), object({ a: 1, b: 1 }));
    expect(await appliedObject(kube, gpuEndpointResource, object({ a: 2 }))).toMatchObject({
      kind: "Accepted",
      object: { spec: { a: 2, b: 1 } },
      checked: false,
    });
  });

  it("that fails is an error", async () => {
    const { kube } = kubeThat(refusal(500, "broken"));
    await expect(appliedObject(kube, gpuEndpointResource, object({}))).rejects.toThrow("broken");
  });
});
