import { describe, expect, it } from "vitest";
import type { GpuEndpoint } from "../../../../src/api/v1alpha1/gpu-endpoint.ts";
import { clusterAccountResource, gpuEndpointResource } from "../../../../src/api/v1alpha1/kinds.ts";
import { systemClock } from "../../../../src/base/clock.ts";
import { findForeignObjects } from "../../../../src/cli/operate/cleanup/foreign-objects.ts";
import { releaseObjects } from "../../../../src/cli/operate/cleanup/release-objects.ts";
import { isScaled, scaleEndpointsToZero } from "../../../../src/cli/operate/cleanup/scale-endpoints.ts";
import type { KubeClient } from "../../../../src/kube/client.ts";
import type { KubeObject } from "../../../../src/kube/types.ts";
import { endpointOf } from "../../../support/endpoints.ts";
import { scriptedApi } from "../../../support/scripted-api-server.ts";

const FINALIZER = "mooring.dev/finalizer";
const signal = new AbortController().signal;

/** An endpoint that the operator has scaled to zero, changed. */
function scaled({ metadata, spec, status }: { metadata?: object; spec?: object; status?: object } = {}): GpuEndpoint {
  const endpoint = endpointOf({ suspend: true, ...spec });
  const applied = { observedGeneration: 2, appliedGeneration: 2, endpointID: "e", conditions: [], ...status };
  return {
    ...endpoint,
    metadata: { ...endpoint.metadata, finalizers: [FINALIZER], generation: 2, ...metadata },
    status: applied as NonNullable<GpuEndpoint["status"]>,
  };
}

describe("an endpoint is scaled to zero", () => {
  const deletionTimestamp = "2026-03-01T00:00:00Z";
  it.each([
    ["when a read confirmed the suspended spec", scaled(), true],
    ["not before a read of this generation", scaled({ status: { appliedGeneration: 1 } }), false],
    ["not while its deletion is under way", scaled({ metadata: { deletionTimestamp } }), false],
    ["when the operator has completed its deletion", scaled({ metadata: { deletionTimestamp, finalizers: [] } }), true],
    [
      "when the operator saw the suspended spec and made no endpoint",
      scaled({ status: { endpointID: undefined } }),
      true,
    ],
    [
      "not before the operator has seen the spec",
      scaled({ status: { endpointID: undefined, observedGeneration: 1 } }),
      false,
    ],
    [
      "not while the outcome of a create is unknown",
      scaled({ status: { endpointID: undefined, submission: { state: "Intended" } } }),
      false,
    ],
    ["as far as it is only observed", scaled({ spec: { suspend: false, managementPolicy: "Observe" } }), true],
  ])("%s", (_name, endpoint, expected) => {
    expect(isScaled(endpoint)).toBe(expected);
  });
});

/** A cluster with endpoints and ClusterAccounts. `patched`: paths and bodies. */
async function cluster(endpoints: GpuEndpoint[], accounts: object[] = []) {
  const patched: [string, unknown][] = [];
  const { client } = await scriptedApi(({ method, path, body }) => {
    if (method === "PATCH") patched.push([path.split("/").slice(-2).join("/"), body]);
    const items = path.endsWith("/gpuendpoints") ? endpoints : path.endsWith("/clusteraccounts") ? accounts : [];
    return { body: method === "GET" ? { metadata: {}, items } : {} };
  });
  return { client, patched };
}

describe("cleanup with deletions under way", () => {
  it("waits for the operator, and names what is left when the time is up", async () => {
    const deleted = scaled({ metadata: { deletionTimestamp: "2026-03-01T00:00:00Z" } });
    const { client, patched } = await cluster([deleted]);
    const options = { clock: systemClock, namespaces: [], dryRun: false, foreign: () => undefined, print: () => {} };
    await expect(scaleEndpointsToZero(client, { ...options, timeout: AbortSignal.timeout(1_500) })).rejects.toThrow(
      /^1 endpoint is not scaled to zero[\s\S]*is being deleted; /,
    );
    expect(patched).toEqual([]);
  });

  it("takes no finalizer off an object that has to keep it", async () => {
    const { client, patched } = await cluster([scaled()]);
    const keeps = () => "it is not scaled to zero";
    const found = [];
    for await (const one of releaseObjects(client, { namespaces: [], dryRun: false, signal, keeps })) found.push(one);
    expect(found).toMatchObject([{ kind: "GpuEndpoint", kept: "it is not scaled to zero" }]);
    expect(patched).toEqual([]);
  });
});

describe("objects of another installation", () => {
  const since = "2026-03-01T00:00:00Z";
  const account = (installation: string, change: { namespaces?: string[]; released?: string } = {}): KubeObject => ({
    metadata: { name: "default" },
    spec: {},
    status: { server: { namespace: installation, since, ...change } },
  });
  const endpoint = scaled({ spec: { suspend: false } });
  const find = async (client: KubeClient) =>
    (await findForeignObjects(client, "mooring", []))(gpuEndpointResource, endpoint);

  it.each([
    { what: "an account that it serves", served: account("other"), expected: "other" },
    { what: "an account of this installation", served: account("mooring"), expected: undefined },
    {
      what: "an account that it serves for other namespaces",
      served: account("other", { namespaces: ["x"] }),
      expected: undefined,
    },
    {
      what: "an account that it has released",
      served: account("other", { released: "2026-03-01T01:00:00Z" }),
      expected: "other",
    },
  ])("are those of $what: $expected", async ({ served, expected }) => {
    const { client } = await cluster([endpoint], [served]);
    expect(await find(client)).toBe(expected);
    const foreign = await findForeignObjects(client, "mooring", []);
    const { server } = served.status as { server: { namespace: string } };
    const other = server.namespace === "mooring" ? undefined : server.namespace;
    expect(foreign(clusterAccountResource, served)).toBe(other);
  });

  it("are those of nobody when it has only probed their account", async () => {
    const { client } = await cluster([endpoint], [account("other", { released: since })]);
    expect(await find(client)).toBeUndefined();
  });

  it("are not suspended", async () => {
    const { client, patched } = await cluster([endpoint], [account("other")]);
    const foreign = await findForeignObjects(client, "mooring", []);
    const options = { clock: systemClock, namespaces: [], dryRun: false, foreign, print: () => {} };
    await scaleEndpointsToZero(client, { ...options, timeout: AbortSignal.timeout(60_000) });
    expect(patched).toEqual([]);
  });
});
