import { beforeAll, describe, expect, it } from "vitest";
import type { DriftField } from "../../src/api/v1alpha1/gpu-endpoint.ts";
import type { Resource } from "../../src/kube/resource.ts";
import type { KubeObject } from "../../src/kube/types.ts";
import { type Change, manifest, merged } from "../support/manifests.ts";
import { type AnyObject, condition, createWorld, eventually, type World } from "../support/world.ts";

const network = { type: "network", id: "net-1", mountPath: "/models" };
const local = { type: "local", mountPath: "/scratch" };
const mounts = [network, { ...local, size: 30 }];
const stored: Change = { volumes: [network, local], clusterID: "cluster-1" };
/** What every object has, so that a change of one field shows that the others are sent too. */
const rich: Change = {
  command: "serve",
  registryAuthID: "auth-1",
  env: [
    { name: "MODE", value: "fast" },
    { name: "LIMIT", value: "60" },
  ],
};
const envs = [
  { key: "MODE", value: "fast" },
  { key: "LIMIT", value: "60" },
];

type SpecRow = { field: string; start?: Change; change: Change; sent: Change | undefined };
const same = (field: string, change: Change, start: Change = {}): SpecRow => ({
  field,
  start,
  change,
  sent: undefined,
});

/** One row a field: what a person edits, and how it is spelt in the update; undefined: nothing is to be sent. */
const edits: SpecRow[] = [
  { field: "name", change: { name: "renamed" }, sent: { name: "renamed" } },
  { field: "image", change: { image: "a:2" }, sent: { image: { image: "a:2" } } },
  { field: "command", change: { command: "run" }, sent: { image: { command: "run" } } },
  { field: "no command", change: { command: null }, sent: { image: { command: null } } },
  { field: "registryAuthID", change: { registryAuthID: "auth-2" }, sent: { image: { authId: "auth-2" } } },
  { field: "no registryAuthID", change: { registryAuthID: null }, sent: { image: { authId: null } } },
  { field: "port", change: { port: 9000 }, sent: { ports: [{ port: "9000" }] } },
  { field: "workers.min", change: { workers: { min: 0 } }, sent: { workerConfig: { minNum: 0 } } },
  { field: "workers.max", change: { workers: { max: 9 } }, sent: { workerConfig: { maxNum: 9 } } },
  {
    field: "workers.idleTimeoutSeconds",
    change: { workers: { idleTimeoutSeconds: 61 } },
    sent: { workerConfig: { freeTimeout: 61 } },
  },
  {
    field: "workers.maxConcurrency",
    change: { workers: { maxConcurrency: 5 } },
    sent: { workerConfig: { maxConcurrent: 5 } },
  },
  { field: "workers.gpus", change: { workers: { gpus: 2 } }, sent: { workerConfig: { gpuNum: 2 } } },
  {
    field: "workers.requestTimeoutSeconds",
    change: { workers: { requestTimeoutSeconds: 121 } },
    sent: { workerConfig: { requestTimeout: 121 } },
  },
  { field: "policy.type", change: { policy: { type: "concurrency" } }, sent: { policy: { type: "concurrency" } } },
  { field: "policy.value", change: { policy: { value: 31 } }, sent: { policy: { value: 31 } } },
  {
    field: "volumes",
    start: stored,
    change: { volumes: [{ ...network, mountPath: "/elsewhere" }, local] },
    sent: { volumeMounts: [{ ...network, mountPath: "/elsewhere" }, mounts[1]] },
  },
  {
    field: "no volumes",
    start: stored,
    change: { volumes: null, clusterID: null },
    sent: { volumeMounts: [], clusterID: null },
  },
  { field: "clusterID", start: stored, change: { clusterID: "cluster-2" }, sent: { clusterID: "cluster-2" } },
  {
    field: "env",
    change: { env: [{ name: "MODE", value: "slow" }] },
    sent: { envs: [{ key: "MODE", value: "slow" }] },
  },
  { field: "no env", change: { env: null }, sent: { envs: [] } },
  { field: "healthCheck.path", change: { healthCheck: { path: "/live" } }, sent: { healthy: { path: "/live" } } },
  { field: "suspend", change: { suspend: true }, sent: { workerConfig: { minNum: 0, maxNum: 0 } } },
  same("the order of env", { env: [...(rich["env"] as object[])].reverse() }),
  same("the order of volumes", { volumes: [local, network] }, stored),
  same("the usual size of a local volume", { volumes: [network, { ...local, sizeGB: 30 }] }, stored),
  same("driftPolicy", { driftPolicy: "Report" }),
  same("ignoreDrift", { ignoreDrift: ["env"] }),
  same("managementPolicy", { managementPolicy: "Observe" }),
  same("deletionPolicy", { deletionPolicy: "Retain" }),
];

type DriftRow = { field: DriftField; start?: Change; remote: Change; desired: string; observed: string; fixed?: false };

/** One row a field: what somebody changes at the remote, and what the status says of it. `fixed`: no update can change it. */
const drifts: DriftRow[] = [
  { field: "name", start: { name: "mine" }, remote: { name: "theirs" }, desired: "mine", observed: "theirs" },
  {
    field: "appName",
    start: { appName: "mine" },
    remote: { appName: "theirs" },
    desired: "mine",
    observed: "theirs",
    fixed: false,
  },
  {
    field: "products",
    remote: { products: [{ id: "gpu-h100" }] },
    desired: "gpu-4090-24g",
    observed: "gpu-h100",
    fixed: false,
  },
  { field: "image", start: { image: "a:1" }, remote: { image: { image: "a:2" } }, desired: "a:1", observed: "a:2" },
  { field: "command", remote: { image: { command: "" } }, desired: "serve", observed: "" },
  { field: "registryAuthID", remote: { image: { authId: "auth-2" } }, desired: "auth-1", observed: "auth-2" },
  { field: "port", remote: { ports: [{ port: "9000" }] }, desired: "8000", observed: "9000" },
  { field: "workers.min", remote: { workerConfig: { minNum: 0 } }, desired: "1", observed: "0" },
  { field: "workers.max", remote: { workerConfig: { maxNum: 9 } }, desired: "2", observed: "9" },
  { field: "workers.idleTimeoutSeconds", remote: { workerConfig: { freeTimeout: 61 } }, desired: "60", observed: "61" },
  { field: "workers.maxConcurrency", remote: { workerConfig: { maxConcurrent: 5 } }, desired: "4", observed: "5" },
  { field: "workers.gpus", remote: { workerConfig: { gpuNum: 2 } }, desired: "1", observed: "2" },
  {
    field: "workers.requestTimeoutSeconds",
    remote: { workerConfig: { requestTimeout: 121 } },
    desired: "120",
    observed: "121",
  },
  { field: "policy.type", remote: { policy: { type: "concurrency" } }, desired: "queue", observed: "concurrency" },
  { field: "policy.value", remote: { policy: { value: 31 } }, desired: "30", observed: "31" },
  { field: "rootfsSizeGB", remote: { rootfsSize: 50 }, desired: "100", observed: "50", fixed: false },
  {
    field: "volumes",
    start: stored,
    remote: { volumeMounts: [network, { ...local, size: 40 }] },
    desired: "local at /scratch 30 GB; network net-1 at /models",
    observed: "local at /scratch 40 GB; network net-1 at /models",
  },
  {
    field: "clusterID",
    start: stored,
    remote: { clusterID: "cluster-2" },
    desired: "cluster-1",
    observed: "cluster-2",
  },
  {
    field: "env",
    remote: { envs: [envs[0], { key: "EXTRA", value: "p4ss" }] },
    desired: "EXTRA absent, LIMIT=(hidden)",
    observed: "EXTRA=(hidden), LIMIT absent",
  },
  { field: "healthCheck.path", remote: { healthy: { path: "/live" } }, desired: "/health", observed: "/live" },
];

const nameOf = (prefix: string, field: string) => `${prefix}-${field.replaceAll(/[ .]/g, "-").toLowerCase()}`;
const eventResource: Resource = {
  group: "events.k8s.io",
  version: "v1",
  plural: "events",
  kind: "Event",
  namespaced: true,
};
type Event = KubeObject & { regarding?: { name: string }; reason?: string; note?: string };

describe.each(["Current", "Earlier"] as const)("field by field, generation %s", (generation) => {
  const list = generation === "Current" ? "listEndpoints" : "listEndpointsEarlier";
  let world: World;

  /** Applies all at once and waits until each is Ready; by name. */
  async function applied(objects: { name: string; spec: Change }[]): Promise<Map<string, AnyObject>> {
    await Promise.all(objects.map(({ name, spec }) => world.apply(manifest("endpoint", merged(rich, spec), name))));
    return settled(
      objects.map(({ name }) => name),
      (object) => condition(object, "Ready")?.status === "True" && condition(object, "Synced")?.status === "True",
    );
  }

  async function settled(names: string[], holds: (object: AnyObject) => boolean): Promise<Map<string, AnyObject>> {
    let missing = names;
    try {
      return await eventually("all are settled", async () => {
        const objects = new Map((await world.list("GpuEndpoint")).map((object) => [object.metadata.name, object]));
        missing = names.filter((name) => {
          const object = objects.get(name);
          return object === undefined || !holds(object);
        });
        return missing.length === 0 && objects;
      });
    } catch (error) {
      const objects = await Promise.all(missing.map((name) => world.get("GpuEndpoint", name)));
      throw new Error(`${error}\n${JSON.stringify(objects.map(({ metadata, status }) => [metadata.name, status]))}`);
    }
  }

  /** Waits until `count` whole sweeps have begun and ended from now on. */
  async function sweeps(count: number): Promise<void> {
    const begun = (await world.audit(list)).length;
    await eventually(`${count} sweeps`, async () => (await world.audit(list)).length > begun + count);
  }

  /** The body that an update of the endpoint is to have: what it was created with, and `change`. */
  async function fullBody(endpointID: unknown, change: Change = {}): Promise<Record<string, unknown>> {
    const [create] = (await world.audit("createEndpoint")).filter(({ id }) => id === endpointID);
    const { endpoint } = (create?.body ?? {}) as { endpoint?: Record<string, unknown> };
    const { appName, products, rootfsSize, ...rest } = endpoint ?? {};
    expect([appName, products, rootfsSize]).not.toContain(undefined);
    return merged({ id: endpointID, ...rest }, change);
  }

  const updatesOf = async (endpointID: unknown, since = 0) =>
    (await world.audit("updateEndpoint")).filter(({ id, seq }) => id === endpointID && seq > since);

  beforeAll(async () => {
    world = await createWorld(`fields-${generation.toLowerCase()}`, {
      account: { endpoints: { generation, syncInterval: "1s" } },
    });
    await world.startOperator();
  });

  it("a change of the spec is one update with all parameters, and nothing changed is none for three sweeps", async () => {
    const before = await applied(edits.map(({ field, start = {} }) => ({ name: nameOf("spec", field), spec: start })));
    await sweeps(3);
    expect(await world.audit("updateEndpoint")).toEqual([]);
    await Promise.all(
      edits.map(({ field, change }) => world.patch("GpuEndpoint", nameOf("spec", field), { spec: change })),
    );
    await settled(
      edits.map(({ field }) => nameOf("spec", field)),
      ({ status, metadata }) => status?.["appliedGeneration"] === metadata.generation,
    );
    await sweeps(3);
    const outcome = await Promise.all(
      edits.map(async ({ field, sent }) => {
        const id = before.get(nameOf("spec", field))?.status?.["endpointID"];
        const updates = await updatesOf(id);
        return {
          field,
          sent: updates.map(({ body }) => body),
          expected: sent === undefined ? [] : [await fullBody(id, sent)],
        };
      }),
    );
    for (const { field, sent, expected } of outcome) expect(sent, field).toEqual(expected);
    const after = await world.list("GpuEndpoint");
    for (const { metadata, status } of after) expect(status?.["drift"], metadata.name).toBeUndefined();
  });

  it("a change at the remote is named; Remediate puts it back with one update, Report sends nothing", async () => {
    const policies = ["Remediate", "Report"] as const;
    // Two endpoints of an account cannot share an app name that a person chose.
    const started = ({ start = {} }: DriftRow, policy: string): Change => ({
      ...start,
      ...(start["appName"] === undefined ? {} : { appName: `${start["appName"]}-${policy.toLowerCase()}` }),
      driftPolicy: policy,
    });
    const rows = policies.flatMap((policy) =>
      drifts.map((row) => ({ ...row, policy, name: nameOf(policy.toLowerCase(), row.field) })),
    );
    const before = await applied(rows.map((row) => ({ name: row.name, spec: started(row, row.policy) })));
    const idOf = (name: string) => before.get(name)?.status?.["endpointID"];
    const since = (await world.audit()).at(-1)?.seq ?? 0;
    for (const { name, remote, field, policy } of rows) {
      const change = field === "appName" ? { appName: `theirs-${policy.toLowerCase()}` } : remote;
      await world.control("POST", `/__state/endpoints/${idOf(name)}`, change);
    }
    const lasting = rows.filter(({ policy, fixed }) => policy === "Report" || fixed === false);
    await settled(
      lasting.map(({ name }) => name),
      (object) => condition(object, "Synced")?.status === "False",
    );
    const remedied = rows.filter((row) => !lasting.includes(row));
    await eventually("all are put back", async () => {
      const counts = await Promise.all(remedied.map(({ name }) => updatesOf(idOf(name), since)));
      return counts.every((updates) => updates.length > 0);
    });
    await sweeps(3);

    const now = new Map((await world.list("GpuEndpoint")).map((object) => [object.metadata.name, object]));
    for (const { name, field, desired, observed, policy } of lasting) {
      const suffix = field === "appName" ? `-${policy.toLowerCase()}` : "";
      const object = now.get(name);
      expect(object?.status?.["drift"], name).toEqual([
        { field, desired: desired + suffix, ...{ observed: observed + suffix } },
      ]);
      expect(object && condition(object, "Synced"), name).toMatchObject({
        status: "False",
        reason: "Drifted",
        message: `The remote endpoint differs from the spec in ${field}`,
      });
      expect(await updatesOf(idOf(name), since), name).toEqual([]);
    }
    const { items: events } = await world.kube.list<Event>(eventResource, { namespace: world.namespace });
    for (const { name, field } of remedied) {
      const object = now.get(name);
      const updates = await updatesOf(idOf(name), since);
      expect(
        updates.map(({ body }) => body),
        name,
      ).toEqual([await fullBody(idOf(name))]);
      expect(object?.status?.["drift"], name).toBeUndefined();
      expect(object && condition(object, "Synced")?.status, name).toBe("True");
      const [event] = events.filter(({ regarding, reason }) => regarding?.name === name && reason === "DriftRemedied");
      expect(event?.note, name).toContain(field);
    }
  });

  it("the status shows what the generation shows: its state, its errors, its workers", async () => {
    const objects = await applied([{ name: "shown", spec: { workers: { min: 2, max: 3 } } }]);
    const shown = objects.get("shown");
    expect(shown?.status).toMatchObject({
      remote: { status: generation === "Current" ? "running" : "serving" },
      workers: { total: 2, ready: 2, healthy: 2, draining: 0 },
    });
    const id = shown?.status?.["endpointID"];
    await world.control("POST", `/__state/endpoints/${id}`, {
      status: { status: "failed", error: "IMAGE_PULL_FAILED", message: "no such image" },
    });
    const broken = await settled(["shown"], (object) => condition(object, "Ready")?.status === "False");
    expect(broken.get("shown")?.status?.["remote"]).toEqual({
      status: "failed",
      error: "IMAGE_PULL_FAILED",
      message: "no such image",
    });
    await world.control("POST", `/__state/endpoints/${id}`, { status: null });
    await settled(["shown"], (object) => condition(object, "Ready")?.status === "True");
  });

  it("a create whose answer was lost is found again by its app name", async () => {
    await world.control("POST", "/__faults", { operation: "createEndpoint", kind: "resetAfter" });
    const objects = await applied([{ name: "unanswered", spec: {} }]);
    const creates = (await world.audit("createEndpoint")).filter(({ body }) =>
      JSON.stringify(body).includes(String(objects.get("unanswered")?.status?.["appName"])),
    );
    expect(creates.map(({ status, id }) => [status, id])).toEqual([
      [null, objects.get("unanswered")?.status?.["endpointID"]],
    ]);
  });

  it("one that was let go is taken over by another object", async () => {
    const objects = await applied([{ name: "first", spec: { deletionPolicy: "Retain" } }]);
    const id = objects.get("first")?.status?.["endpointID"];
    await world.remove("GpuEndpoint", "first");
    const adoption = { endpointID: id, mode: "Override" };
    const adopted = await applied([{ name: "second", spec: { name: "taken-over", adoption, ...stored } }]);
    expect(adopted.get("second")?.status?.["endpointID"]).toBe(id);
    expect((await updatesOf(id)).map(({ body }) => body)).toEqual([
      await fullBody(id, { name: "taken-over", volumeMounts: mounts, clusterID: "cluster-1" }),
    ]);
  });

  it("asks the other generation for nothing that its own shows", async () => {
    const audit = await world.audit();
    const asked = new Set(audit.map(({ operation }) => operation));
    if (generation === "Earlier") {
      expect(asked).not.toContain("listEndpoints");
      expect(asked).not.toContain("getEndpoint");
      return;
    }
    const withVolumes = new Set(
      audit
        .filter(({ effect }) => effect !== undefined)
        .filter(({ body }) => JSON.stringify(body).includes("net-1"))
        .map(({ id }) => id),
    );
    const alone = audit.filter(({ operation }) => operation === "getEndpointEarlier").map(({ query }) => query?.["id"]);
    expect(alone.filter((id) => !withVolumes.has(id))).toEqual([]);
    const count = (operation: string) => audit.filter((entry) => entry.operation === operation).length;
    expect(count("listEndpointsEarlier")).toBeLessThan(count("listEndpoints") / 3);
  });
});
