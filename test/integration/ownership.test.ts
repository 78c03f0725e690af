import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { driftFields } from "../../src/api/v1alpha1/gpu-endpoint.ts";
import { withClusterAccount } from "../support/cluster-account.ts";
import { createByHand, tools } from "../support/command-line.ts";
import { type Change, manifest } from "../support/manifests.ts";
import {
  API_KEY,
  condition,
  createWorld,
  eventsOf,
  eventually,
  type Operator,
  type World,
  waitForCondition,
} from "../support/world.ts";

const SECRET = "b-only-s3cr3t";
const IMAGE = "registry.example.com/private-of-b/model:7";
const COMMAND = "serve --only-b-knows";
const EVERY_FIELD = { ignoreDrift: [...driftFields] };

/** Two namespaces that share a ClusterAccount and an operator. */
describe.sequential("an endpoint that one GpuEndpoint is bound to", () => {
  let a: World;
  let b: World;
  let operator: Operator;
  let accountRef: { kind: string; name: string };
  let release: () => void;
  let account: Promise<void>;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "mooring-ownership-"));
    b = await createWorld("owner", { seed: 31, account: null, simulator: { duplicateAppName: "Accept" } });
    a = await createWorld("rival", { seed: 32, account: null });
    const spec = { rateLimit: { requestsPerSecond: 2000, burst: 2000 }, endpoints: { syncInterval: "1s" } };
    await new Promise<void>((ready, failed) => {
      account = withClusterAccount(b, spec, async (name) => {
        accountRef = { kind: "ClusterAccount", name };
        ready();
        await new Promise<void>((end) => {
          release = end;
        });
      });
      account.catch(failed);
    });
    operator = await b.startOperator({ args: [`--watch-namespaces=${b.namespace},${a.namespace}`] });
  });
  afterAll(async () => {
    await operator.kill();
    release();
    await account;
    await rm(folder, { recursive: true });
  });

  const apply = (world: World, name: string, change: Change = {}) =>
    world.apply(manifest("endpoint", { accountRef, ...change }, name));

  /** A GpuEndpoint of namespace b, with a value from a Secret, that is bound and serves. */
  async function owned(name: string, change: Change = {}): Promise<{ id: string; appName: string }> {
    await b.apply({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: `${name}-token` },
      stringData: { token: SECRET },
    });
    const env = [{ name: "TOKEN", valueFrom: { secretKeyRef: { name: `${name}-token`, key: "token" } } }];
    await apply(b, name, { image: IMAGE, command: COMMAND, env, ...change });
    const { status } = await waitForCondition(b, "GpuEndpoint", name, "Ready");
    return { id: String(status?.["endpointID"]), appName: String(status?.["appName"]) };
  }

  async function denied(name: string): Promise<string> {
    const object = await eventually(`${name} is denied`, async () => {
      const present = await a.get("GpuEndpoint", name);
      return condition(present, "Stalled")?.reason === "AlreadyBound" && present;
    });
    expect(condition(object, "Synced")).toBeUndefined();
    return condition(object, "Stalled")?.message ?? "";
  }

  /** All that a reader of namespace a, or of the operator's log, can find. */
  async function shownTo(name: string): Promise<string> {
    const events = await eventually(`an event of ${name}`, async () => {
      const found = await eventsOf(a, "GpuEndpoint", name);
      return found.length > 0 && found;
    });
    return [JSON.stringify(await a.get("GpuEndpoint", name)), ...events, operator.log()].join("\n");
  }

  const parametersOf = async (id: string) =>
    ((await b.state()).endpoints as { id: string; parameters: object }[]).find((one) => one.id === id)?.parameters;
  const updatesOf = async (id: string) => (await b.audit("updateEndpoint")).filter(({ body }) => body?.["id"] === id);
  const gone = (world: World, name: string) =>
    eventually(`${name} is gone`, async () =>
      (await world.list("GpuEndpoint")).every(({ metadata }) => metadata.name !== name),
    );

  it.each([
    ["adoption with Match", { adoption: { mode: "Match" } }],
    ["adoption with Override", { adoption: { mode: "Override" } }],
    ["Observe by ID", { adoption: { mode: "Match" }, managementPolicy: "Observe" }],
    ["Observe by app name", { managementPolicy: "Observe" }],
    ["its app name", {}],
  ])("is not shown to another one that asks by %s", async (what, change) => {
    const name = what.toLowerCase().replaceAll(" ", "-");
    const { id, appName } = await owned(name);
    const env = [{ name: "TOKEN", value: "x" }];
    const asked = "adoption" in change ? { adoption: { ...change.adoption, endpointID: id } } : { appName };
    await apply(a, name, { ...change, ...asked, env });
    const message = await denied(name);
    const target = "adoption" in change ? `endpoint ID ${id} is already bound` : `appName ${appName} is already used`;
    expect(message).toContain(`${target}`);
    expect(message).toContain("another GpuEndpoint in this cluster");
    const shown = await shownTo(name);
    for (const secret of [SECRET, IMAGE, COMMAND]) expect(shown).not.toContain(secret);
    expect(JSON.stringify(await a.get("GpuEndpoint", name))).not.toContain(b.namespace.concat("-", name));
    expect(await updatesOf(id)).toEqual([]);
  });

  it("is not taken over by Match with every field in ignoreDrift, nor changed by a deletion", async () => {
    const { id } = await owned("stolen");
    const before = await parametersOf(id);
    await apply(a, "stolen", { adoption: { endpointID: id, mode: "Match" }, ...EVERY_FIELD });
    await denied("stolen");
    await a.patch("GpuEndpoint", "stolen", { spec: { ignoreDrift: ["env"] } });
    await eventually("the change is observed", async () => {
      const { status, metadata } = await a.get("GpuEndpoint", "stolen");
      return status?.["observedGeneration"] === metadata.generation;
    });
    await denied("stolen");
    expect(await parametersOf(id)).toEqual(before);
    await a.remove("GpuEndpoint", "stolen");
    await gone(a, "stolen");
    expect(await parametersOf(id)).toEqual(before);
    expect(await updatesOf(id)).toEqual([]);
  });

  it("has one GpuEndpoint when two imports of it are applied", async () => {
    const made = { name: "imported", appName: "imported" };
    const id = await createByHand(b, { ...parameters, ...made });
    const key = join(folder, "key");
    await writeFile(key, API_KEY);
    const select = ["--endpoint-id", id, "--management-policy", "Full", "--include-managed", "--force"];
    const account = ["--cluster-account", accountRef.name];
    const first = await tools(b).mooring("import", ...account, ...select, "--out", join(folder, "b"));
    expect(first, first.stderr).toMatchObject({ code: 0 });
    const applied = await tools(b).kubectl("apply", "--server-side", "-f", join(folder, "b"));
    expect(applied).toMatchObject({ code: 0, stderr: "" });
    await waitForCondition(b, "GpuEndpoint", "imported", "Synced");
    const elsewhere = await tools(a).mooring("import", ...account, ...select, "--out", join(folder, "none"));
    expect(elsewhere.stderr).toContain(`GpuEndpoint ${b.namespace}/imported already has it: not written`);
    expect(elsewhere.stderr).toContain("0 written");
    // Without the cluster, no object of it is known.
    const blind = ["--base-url", b.simulator.url, "--api-key-file", key];
    const second = await tools(a).mooring("import", ...blind, ...select, "--out", join(folder, "a"));
    expect(second, second.stderr).toMatchObject({ code: 0, stderr: expect.stringContaining("no cluster is asked") });
    const path = join(folder, "a", "imported.yaml");
    expect(await tools(a).kubectl("apply", "--server-side", "-f", path)).toMatchObject({ code: 0 });
    await a.patch("GpuEndpoint", "imported", { spec: { accountRef } });
    await denied("imported");
    expect(condition(await b.get("GpuEndpoint", "imported"), "Synced")?.reason).toBe("InSync");
  });

  it("is bound by the one that waits as soon as its owner is deleted with Retain", async () => {
    const { id } = await owned("left", { deletionPolicy: "Retain" });
    await apply(a, "left", { adoption: { endpointID: id, mode: "Override" } });
    await denied("left");
    await b.remove("GpuEndpoint", "left");
    const { status } = await waitForCondition(a, "GpuEndpoint", "left", "Ready");
    expect(status?.["endpointID"]).toBe(id);
    await waitForCondition(a, "GpuEndpoint", "left", "Synced");
    expect(await updatesOf(id)).toHaveLength(1);
  });

  it("is created once when two namespaces choose the same app name at the same time", async () => {
    await Promise.all([a, b].map((world) => apply(world, "same", { appName: "the-same" })));
    const settled = await eventually("both are settled", async () => {
      const objects = await Promise.all([a, b].map((world) => world.get("GpuEndpoint", "same")));
      const states = objects.map((object) =>
        condition(object, "Ready")?.status === "True" ? "Ready" : condition(object, "Stalled")?.reason,
      );
      return states.every((state) => state !== undefined) && states.sort();
    });
    expect(settled).toEqual(["AlreadyBound", "Ready"]);
    const creates = (await b.audit("createEndpoint")).filter(({ body }) => JSON.stringify(body).includes("the-same"));
    expect(creates).toHaveLength(1);
  });

  it("is bound once when two namespaces adopt it at the same time", async () => {
    const id = await createByHand(b, { ...parameters, name: "found", appName: "found" });
    const adoption = { endpointID: id, mode: "Override" };
    await Promise.all([a, b].map((world) => apply(world, "found", { adoption, name: `of-${world.namespace}` })));
    const bound = await eventually("both are settled", async () => {
      const objects = await Promise.all([a, b].map((world) => world.get("GpuEndpoint", "found")));
      const settled = objects.every(
        (object) =>
          condition(object, "Stalled")?.reason === "AlreadyBound" || condition(object, "Synced")?.status === "True",
      );
      return settled && objects.filter(({ status }) => status?.["endpointID"] !== undefined);
    });
    expect(bound).toHaveLength(1);
    expect(await updatesOf(id)).toHaveLength(1);
  });
});

const parameters = {
  workerConfig: { minNum: 1, maxNum: 2, freeTimeout: 60, maxConcurrent: 4, gpuNum: 1, requestTimeout: 120 },
  ports: [{ port: "8000" }],
  policy: { type: "queue", value: 30 },
  image: { image: IMAGE },
  products: [{ id: "gpu-4090-24g" }],
  rootfsSize: 100,
  volumeMounts: [],
  healthy: { path: "/health" },
};
