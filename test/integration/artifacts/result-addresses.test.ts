import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { clusterAccountResource } from "../../../src/api/v1alpha1/kinds.ts";
import { type FileServer, startFileServer } from "../../../tools/artifacts/file-server.ts";
import { withClusterAccount } from "../../support/cluster-account.ts";
import { manifest } from "../../support/manifests.ts";
import {
  type AnyObject,
  condition,
  createWorld,
  eventually,
  type World,
  waitForCondition,
} from "../../support/world.ts";

/** A server that must not be reached: counts connections. */
type Trap = { url: string; connections(): number; close(): Promise<void> };

async function startTrap(host: string): Promise<Trap> {
  let connections = 0;
  const server = createServer((_request, response) => response.end("secret"));
  server.on("connection", () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${port}`,
    connections: () => connections,
    close: () => new Promise((resolve) => void server.close(() => resolve())),
  };
}

let source: FileServer;
let traps: Trap[];
let root: string;
beforeAll(async () => {
  source = await startFileServer();
  traps = await Promise.all([startTrap("127.0.0.2"), startTrap("::1")]);
  root = await mkdtemp(join(tmpdir(), "mooring-addresses-"));
});
afterAll(async () => {
  await Promise.all([source.close(), ...traps.map((trap) => trap.close())]);
  await rm(root, { recursive: true, force: true });
});

/** The service says that the job's video is at this address. */
async function applyVideo(world: World, name: string, url: string, accountRef: object): Promise<void> {
  const taskID = `task-of-${name}-end`;
  const body = {
    task: { task_id: taskID, status: "TASK_STATUS_SUCCEED" },
    videos: [{ video_url: url, video_url_ttl: "3600", video_type: "mp4" }],
  };
  await world.control("POST", "/__faults", [
    { operation: "submitImageToVideo", match: `"${name}-end"`, kind: "status", status: 200, body: { task_id: taskID } },
    { operation: "getTaskResult", match: taskID, kind: "status", status: 200, probability: 1, body },
  ]);
  const spec = { accountRef, imageToVideo: { prompt: `${name}-end` }, output: { storeRef: { name: "disk" } } };
  await world.apply(manifest("image", spec, name));
}

async function stalledOn(world: World, kind: string, name: string): Promise<AnyObject> {
  return eventually(`${kind} ${name} says why it is not stored`, async () => {
    const job = await world.get(kind, name);
    return condition(job, "Stalled")?.reason === "AddressNotAllowed" && job;
  });
}

/** Copies of results, whole or begun, by their path. */
const storedFiles = async () =>
  (await readdir(root, { recursive: true, withFileTypes: true }))
    .filter((one) => one.isFile())
    .map(({ parentPath, name }) => `${parentPath}/${name}`)
    .filter((path) => /\/(Video|Speech)Job\//.test(path));
const artifactOf = ({ status }: AnyObject) =>
  (status?.["results"] as { artifact?: object }[] | undefined)?.[0]?.artifact;

it("a ClusterAccount's results are not copied from private addresses that it does not allow", {
  timeout: 300_000,
}, async () => {
  const world = await createWorld("addresses", { account: null });
  await world.apply({ kind: "ArtifactStore", metadata: { name: "disk" }, spec: { volume: { path: "films" } } });
  await world.startOperator({ args: [`--artifact-root=${root}`, "--allow-private-networks=false"] });
  await withClusterAccount(world, {}, async (account) => {
    const accountRef = { kind: "ClusterAccount", name: account };
    source.files.set("/film", { bytes: 1_000 });
    const [other, six] = traps.map(({ url }) => url);
    const redirects: Record<string, string> = {
      "/to-loopback": `${other}/film`,
      "/to-six": `${six}/film`,
      "/to-metadata": "http://169.254.169.254/latest/meta-data/",
      "/to-ten": "http://10.0.0.1/film",
    };
    for (const [path, redirect] of Object.entries(redirects)) source.files.set(path, { bytes: 0, redirect });
    const urls: Record<string, string> = {
      loopback: `${source.url}/film`,
      "base-url": `${world.simulator.url}/__health`,
      six: `${six}/film`,
      metadata: "http://169.254.169.254/latest/meta-data/",
      ten: "http://10.0.0.1/film",
      named: `${source.url.replace("127.0.0.1", "localhost")}/film`,
    };
    const paths = Object.keys(redirects).map((path) => [path.slice(1), `${source.url}${path}`] as const);
    for (const [name, url] of [...Object.entries(urls), ...paths]) await applyVideo(world, name, url, accountRef);
    await world.control("POST", "/__faults", {
      operation: "synthesizeSpeech",
      kind: "status",
      status: 200,
      probability: 1,
      body: { audio: `${source.url}/film` },
    });
    const output = { storeRef: { name: "disk" } };
    await world.apply(manifest("turbo", { accountRef, output }, "spoken"));

    for (const name of [...Object.keys(urls), ...paths.map(([path]) => path)]) {
      const job = await stalledOn(world, "VideoJob", name);
      const message = condition(job, "Stalled")?.message ?? "";
      if (name === "metadata") expect(message).toContain("--denied-networks");
      else {
        expect(message).toMatch(/not public|not a public address/);
        expect(message).toContain("results.allowedPrivateNetworks");
      }
      if (name === "named") expect(message).not.toMatch(/127\.0\.0\.1|::1/);
      expect(artifactOf(job)).toBeUndefined();
    }
    await stalledOn(world, "SpeechJob", "spoken");
    expect(source.seen).toEqual([]);
    expect(await storedFiles()).toEqual([]);

    // Allowed, the first address is read; where it redirects to is judged by itself.
    const patch = { spec: { results: { allowedPrivateNetworks: ["127.0.0.1/32"] } } };
    await world.kube.mergePatch(clusterAccountResource, { name: account }, patch);
    await waitForCondition(world, "VideoJob", "loopback", "Complete");
    await waitForCondition(world, "SpeechJob", "spoken", "Complete");
    for (const [name] of paths) {
      await eventually(
        `${name} is asked for`,
        async () => source.seen.some(({ path }) => path === `/${name}`),
        120_000,
      );
      const job = await stalledOn(world, "VideoJob", name);
      expect(artifactOf(job)).toBeUndefined();
    }
    expect(traps.map((trap) => trap.connections())).toEqual([0, 0]);
    const refused = paths.map(([name]) => name).join("|");
    expect((await storedFiles()).filter((path) => new RegExp(`/(${refused}|six|metadata|ten)/`).test(path))).toEqual(
      [],
    );
  });
});
