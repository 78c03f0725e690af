import { afterEach, describe, expect, it } from "vitest";
import type { AssumptionsInput } from "../../../src/simulator/assumptions.ts";
import { failure, makeClient } from "../provider/http/make-client.ts";
import { type Bench, endpointBody, startBench, updateBody } from "./start.ts";

let bench: Bench;
const start = async (config: AssumptionsInput = {}) => {
  bench = await startBench(config);
  return bench.client;
};
afterEach(() => bench.close());

const names = (count: number) => Array.from({ length: count }, (_, i) => `app-${i}`);

describe("an endpoint", () => {
  it("is created with the requested parameters, and both generations show it alike", async () => {
    const client = await start({ bootDelayMs: 0 });
    const body = endpointBody({
      clusterID: "cluster-1",
      volumeMounts: [
        { type: "network", id: "disk-1", mountPath: "/data" },
        { type: "local", size: 30, mountPath: "/scratch" },
      ],
    });
    const { id } = await client.createEndpoint(body);
    const current = await client.getEndpoint({ endpointID: id });
    const earlier = await client.getEndpointEarlier({ id });
    expect(current).toMatchObject({
      id,
      type: "sync",
      name: "chat",
      appName: "chat-1",
      status: { status: "running", error: "", message: "" },
      productID: "product-1",
      scaling: { min: 1, max: 3, idleTimeout: 60, maxConcurrency: 4, gpus: 1, requestTimeout: 300 },
      rootfsSizeGB: 100,
      policy: { type: "queue", value: 10 },
      image: "registry.example.com/chat:1",
      command: "serve",
      envs: [{ key: "MODEL", value: "small" }],
      ports: [8080],
      workers: [{ status: { status: "ready" }, healthy: true, draining: false }],
      healthCheck: { path: "/health", port: 8080 },
      memberID: "member-1",
      createdAt: Date.parse("2026-03-04T10:00:00Z") / 1000,
    });
    // Interface: the detail of the current generation shows no size.
    expect(current.volumes).toEqual([
      { type: "network", id: "disk-1", sizeGB: undefined, mountPath: "/data" },
      { type: "local", id: expect.any(String), sizeGB: undefined, mountPath: "/scratch" },
    ]);
    expect((await client.listEndpoints({})).data[0]?.volumes[1]?.sizeGB).toBe(30);
    expect(earlier.details).toMatchObject({ clusterID: "cluster-1", health: { period: 10 } });
    expect(earlier).toMatchObject({
      status: { status: "serving" },
      workers: [{ status: { status: "running" }, healthy: true }],
      volumes: [{ id: "disk-1" }, { sizeGB: 30 }],
    });
    for (const field of ["scaling", "policy", "image", "command", "envs", "ports", "appName", "name", "url"] as const) {
      expect(earlier[field]).toEqual(current[field]);
    }
    expect((await client.listEndpointsEarlier({ pageSize: 5, pageNum: 1 })).data[0]).toEqual({
      ...earlier,
      ports: [8080],
    });
  });

  it("boots, serves, and scales its workers to min", async () => {
    const client = await start({ bootDelayMs: 3000, timeScale: 0.5 });
    const { id } = await client.createEndpoint(endpointBody());
    expect(await client.getEndpoint({ endpointID: id })).toMatchObject({
      status: { status: "initializing" },
      workers: [{ healthy: false }],
    });
    bench.pass(1500);
    expect(await client.getEndpoint({ endpointID: id })).toMatchObject({
      status: { status: "running" },
      workers: [{ healthy: true }],
    });
    await client.updateEndpoint(updateBody(id, { workerConfig: { ...endpointBody().workerConfig, minNum: 3 } }));
    const scaled = await client.getEndpoint({ endpointID: id });
    expect(scaled.status.status).toBe("running");
    expect(scaled.workers.map(({ healthy }) => healthy)).toEqual([true, false, false]);
    await client.updateEndpoint(
      updateBody(id, { workerConfig: { ...endpointBody().workerConfig, minNum: 0, maxNum: 0 } }),
    );
    expect((await client.getEndpoint({ endpointID: id })).workers).toEqual([]);
  });

  it.each([true, false])("loses what an update leaves out: %j", async (updateClearsAbsent) => {
    const client = await start({ updateClearsAbsent });
    const { id } = await client.createEndpoint(
      endpointBody({ volumeMounts: [{ type: "local", size: 30, mountPath: "/s" }] }),
    );
    const { name: _name, envs: _envs, volumeMounts: _volumes, ...rest } = updateBody(id);
    await client.updateEndpoint(rest);
    const { name, envs, volumes, appName, rootfsSizeGB } = await client.getEndpoint({ endpointID: id });
    expect({ name, envs: envs.length, volumes: volumes.length }).toEqual(
      updateClearsAbsent ? { name: "", envs: 0, volumes: 0 } : { name: "chat", envs: 1, volumes: 1 },
    );
    expect({ appName, rootfsSizeGB }).toEqual({ appName: "chat-1", rootfsSizeGB: 100 });
  });

  it("without an app name has its id as one", async () => {
    const client = await start();
    const { appName: _appName, ...body } = endpointBody();
    const { id } = await client.createEndpoint(body);
    expect((await client.getEndpoint({ endpointID: id })).appName).toBe(id);
  });

  it("with a taken app name is refused, or not, as assumed", async () => {
    const client = await start();
    await client.createEndpoint(endpointBody());
    expect(await failure(client.createEndpoint(endpointBody()))).toMatchObject({
      kind: "InvalidRequest",
      delivery: "Refused",
      reason: expect.stringContaining("APP_NAME_ALREADY_EXISTS"),
    });
    await bench.configure({ duplicateAppName: "Accept" });
    await client.createEndpoint(endpointBody());
    expect((await client.listEndpoints({ keyword: "chat-1" })).data).toHaveLength(2);
  });

  it("that does not exist is NotFound, in both generations", async () => {
    const client = await start();
    expect((await failure(client.getEndpoint({ endpointID: "x" }))).kind).toBe("NotFound");
    expect((await failure(client.getEndpointEarlier({ id: "x" }))).kind).toBe("NotFound");
    expect((await failure(client.updateEndpoint(updateBody("x")))).kind).toBe("NotFound");
  });
});

describe("lists", () => {
  const order = ["NewestFirst", "OldestFirst"] as const;
  it.each(order)("show every endpoint once, by cursor and by page: %s", async (listOrder) => {
    const client = await start({ listOrder });
    for (const appName of names(23)) await client.createEndpoint(endpointBody({ appName }));
    const byCursor: string[] = [];
    let cursor = "";
    do {
      const page = await client.listEndpoints({ limit: 10, cursor });
      expect(page.hasMore).toBe(page.nextCursor !== "");
      byCursor.push(...page.data.map(({ appName }) => appName));
      cursor = page.nextCursor;
    } while (cursor !== "");
    const expected = listOrder === "OldestFirst" ? names(23) : names(23).reverse();
    expect(byCursor).toEqual(expected);

    const pages = await Promise.all(
      [1, 2, 3, 4].map((pageNum) => client.listEndpointsEarlier({ pageSize: 10, pageNum })),
    );
    expect(pages.flatMap(({ data }) => data.map(({ appName }) => appName))).toEqual(expected);
    expect(pages.map(({ total }) => total)).toEqual([23, 23, 23, 23]);
  });

  it("by cursor neither double nor skip when endpoints come in between", async () => {
    const client = await start();
    for (const appName of names(4)) await client.createEndpoint(endpointBody({ appName }));
    const first = await client.listEndpoints({ limit: 2 });
    await client.createEndpoint(endpointBody({ appName: "late" }));
    const second = await client.listEndpoints({ limit: 2, cursor: first.nextCursor });
    expect([...first.data, ...second.data].map(({ appName }) => appName)).toEqual(names(4).reverse());
  });

  it("find by keyword and by member", async () => {
    const client = await start();
    for (const appName of names(3)) await client.createEndpoint(endpointBody({ appName, name: `n-${appName}` }));
    const other = makeClient(bench.url, { apiKey: () => "second-key" });
    await other.createEndpoint(endpointBody({ appName: "theirs" }));
    await other.close();
    const found = async (input: Parameters<typeof client.listEndpoints>[0]) =>
      (await client.listEndpoints(input)).data.map(({ appName }) => appName).sort();
    expect(await found({ keyword: "app-1" })).toEqual(["app-1"]);
    expect(await found({ keyword: "n-app" })).toEqual(names(3));
    expect(await found({ memberIDs: ["member-2"] })).toEqual(["theirs"]);
    expect(await found({ memberIDs: ["member-1", "member-2"] })).toEqual([...names(3), "theirs"]);
    expect(await found({ keyword: "nothing" })).toEqual([]);
    await bench.configure({ keywordSearches: ["id"] });
    expect(await found({ keyword: "app-1" })).toEqual([]);
  });

  it("hide new endpoints for a while, reads do not", async () => {
    const client = await start({ listDelayMs: 5000 });
    const { id } = await client.createEndpoint(endpointBody());
    expect((await client.getEndpoint({ endpointID: id })).id).toBe(id);
    expect((await client.listEndpoints({ keyword: "chat-1" })).data).toEqual([]);
    expect((await client.listEndpointsEarlier({ pageSize: 5, pageNum: 1 })).total).toBe(0);
    bench.pass(5000);
    expect((await client.listEndpoints({ keyword: "chat-1" })).data).toHaveLength(1);
  });
});

describe("limits", () => {
  it("are what creates are checked against, also when they change", async () => {
    const client = await start();
    expect(await client.getEndpointLimits()).toMatchObject({ minWorkerNum: 0, maxWorkerNum: 100, maxGPUNum: 8 });
    await bench.configure({ limits: { maxWorkerNum: 2 } });
    expect(await client.getEndpointLimits()).toMatchObject({ maxWorkerNum: 2, maxGPUNum: 8 });
    const error = await failure(client.createEndpoint(endpointBody()));
    expect(error.reason).toContain("workerConfig.maxNum is 3, allowed 0 to 2");
  });
});

describe("by hand", () => {
  it("a remote endpoint changes and vanishes", async () => {
    const client = await start({ bootDelayMs: 0 });
    const { id } = await client.createEndpoint(endpointBody());
    const change = (patch: object) => bench.ask(`/__state/endpoints/${id}`, patch);
    await change({ workerConfig: { maxNum: 9 }, image: { image: "other:2" }, envs: [], ports: [{ port: "9090" }] });
    expect(await client.getEndpoint({ endpointID: id })).toMatchObject({
      scaling: { min: 1, max: 9 },
      image: "other:2",
      command: "serve",
      envs: [],
      ports: [9090],
      status: { status: "running" },
    });
    await change({ status: { status: "failed", error: "IMAGE_PULL_FAILED", message: "no such image" } });
    const broken = { status: "failed", error: "IMAGE_PULL_FAILED", message: "no such image" };
    expect((await client.getEndpoint({ endpointID: id })).status).toEqual(broken);
    expect((await client.getEndpointEarlier({ id })).status).toEqual(broken);
    await change({ status: null });
    expect((await client.getEndpoint({ endpointID: id })).status.status).toBe("running");
    expect((await change({ nope: 1 })).status).toBe(400);
    await change({ delete: true });
    expect((await failure(client.getEndpoint({ endpointID: id }))).kind).toBe("NotFound");
    expect((await change({})).status).toBe(404);
    await client.createEndpoint(endpointBody());
  });
});

describe("many at once", () => {
  it("600 creates and reads in parallel are all answered, each once", async () => {
    const client = await start({ bootDelayMs: 0 });
    const made = await Promise.all(names(600).map((appName) => client.createEndpoint(endpointBody({ appName }))));
    expect(new Set(made.map(({ id }) => id)).size).toBe(600);
    const read = await Promise.all(made.map(({ id }) => client.getEndpoint({ endpointID: id })));
    expect(read.every(({ status }) => status.status === "running")).toBe(true);
    expect(JSON.parse((await bench.ask("/__audit/counts")).text)).toEqual({
      createEndpoint: { calls: 600, effects: 600, statuses: { 200: 600 } },
      getEndpoint: { calls: 600, effects: 0, statuses: { 200: 600 } },
    });
  });

  it("the same seed gives the same identifiers", async () => {
    const run = async (seed: number) => {
      const one = await startBench({}, seed);
      const { id } = await one.client.createEndpoint(endpointBody());
      await one.close();
      return id;
    };
    await start();
    expect(await run(5)).toBe(await run(5));
    expect(await run(5)).not.toBe(await run(6));
  });
});

describe("what a key sees", () => {
  it.each(["Account", "Member"] as const)("keySees %s", async (keySees) => {
    bench = await startBench({ bootDelayMs: 0, keySees });
    const { id } = await bench.client.createEndpoint(endpointBody());
    const other = { authorization: "Bearer second-key" };
    const update = await bench.ask("/gpu-instance/openapi/v1/endpoint/update", updateBody(id), other);
    const list = await bench.ask("/gpus/v2/endpoints", undefined, other);
    const earlier = await bench.ask("/gpu-instance/openapi/v1/endpoints?pageSize=10&pageNum=1", undefined, other);
    const shown = {
      read: (await bench.ask(`/gpus/v2/endpoints/${id}`, undefined, other)).status,
      earlierRead: (await bench.ask(`/gpu-instance/openapi/v1/endpoint?id=${id}`, undefined, other)).status,
      update: update.status,
      list: (list.json["data"] as unknown[]).length,
      earlierList: (earlier.json["endpoints"] as unknown[]).length,
    };
    expect(shown).toEqual(
      keySees === "Account"
        ? { read: 200, earlierRead: 200, update: 200, list: 1, earlierList: 1 }
        : { read: 400, earlierRead: 400, update: 400, list: 0, earlierList: 0 },
    );
    expect((await bench.client.listEndpoints({})).data).toHaveLength(1);
  });
});

describe("parameters that an update accepts without effect", () => {
  it.each([
    { name: "none", updateIgnores: [], expected: { min: 2, image: "other:1" } },
    { name: "one", updateIgnores: ["workerConfig"], expected: { min: 1, image: "other:1" } },
    { name: "all", updateIgnores: ["*"], expected: { min: 1, image: "registry.example.com/chat:1" } },
  ])("$name", async ({ updateIgnores, expected }) => {
    bench = await startBench({ bootDelayMs: 0, updateIgnores });
    const { id } = await bench.client.createEndpoint(endpointBody());
    const { workerConfig } = endpointBody();
    await bench.client.updateEndpoint(
      updateBody(id, { workerConfig: { ...workerConfig, minNum: 2 }, image: { image: "other:1" } }),
    );
    const { scaling: shown, image } = await bench.client.getEndpoint({ endpointID: id });
    expect({ min: shown.min, image }).toEqual(expected);
  });
});
