import { createHash } from "node:crypto";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { envtestKey } from "../../../tools/cluster/cache.ts";
import { selected } from "../../../tools/cluster/control-plane.ts";
import { freePorts } from "../../../tools/cluster/ports.ts";
import type { Provider, ProviderContext } from "../../../tools/cluster/provider.ts";
import { assets } from "../../../tools/cluster/providers/assets.ts";
import { cached } from "../../../tools/cluster/providers/cached.ts";
import { type EnvtestSources, envtest } from "../../../tools/cluster/providers/envtest.ts";
import { existing } from "../../../tools/cluster/providers/existing.ts";
import { kind } from "../../../tools/cluster/providers/kind.ts";
import { runProgram } from "../../../tools/cluster/run-program.ts";

const machine = `${process.platform}-${process.arch === "x64" ? "amd64" : process.arch}`;
const version = "v1.36.7";

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function writePrograms(folder: string, programs: Record<string, string>): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, script] of Object.entries(programs)) {
    await writeFile(join(folder, name), script, { mode: 0o755 });
  }
}

async function find(provider: Provider, context: Partial<ProviderContext> & { cache: string }) {
  const lines: string[] = [];
  const found = await provider.find({ env: {}, log: (line) => lines.push(line), signal: undefined, ...context });
  return { found, lines };
}

/** Serves an index, an archive and Kubernetes' release as their publishers do; `files` may be changed by a test. */
async function publish(): Promise<{ sources: EnvtestSources; files: Map<string, Buffer> }> {
  const folder = await temporaryFolder();
  await writePrograms(join(folder, "controller-tools/envtest"), { etcd: "e", "kube-apiserver": "a", kubectl: "k" });
  const file = `envtest-${version}-${machine}.tar.gz`;
  await runProgram("tar", ["-czf", join(folder, file), "-C", folder, "controller-tools"]);
  const archive = await readFile(join(folder, file));
  const files = new Map<string, Buffer>();
  const server = createServer((request, response) => {
    const body = files.get(request.url ?? "");
    response.writeHead(body === undefined ? 404 : 200).end(body);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const hash = createHash("sha512").update(archive).digest("hex");
  const index = `releases: {${version}: {${file}: {hash: ${hash}, selfLink: "${base}/archive"}}}`;
  const manager = Buffer.from("m");
  const release = `/${version}/bin/${machine.replace("-", "/")}/kube-controller-manager`;
  files.set("/index", Buffer.from(index)).set("/archive", archive).set(release, manager);
  files.set(`${release}.sha256`, Buffer.from(createHash("sha256").update(manager).digest("hex")));
  return { sources: { index: `${base}/index`, kubernetes: base }, files };
}

test("a running cluster is used only when asked for, and then has to be named", async () => {
  const cache = await temporaryFolder();
  const kubeconfig = join(cache, "kubeconfig");
  await writeFile(kubeconfig, "");
  expect((await find(existing, { cache, env: { KUBECONFIG: kubeconfig } })).found.kind).toBe("nothing");
  const { found } = await find(existing, { cache, env: { USE_EXISTING_CLUSTER: "true", KUBECONFIG: kubeconfig } });
  expect(found).toMatchObject({ kind: "cluster", cluster: { kubeconfig } });
  await expect(find(existing, { cache, env: { USE_EXISTING_CLUSTER: "true" } })).rejects.toThrow("KUBECONFIG");
  const missing = { USE_EXISTING_CLUSTER: "true", KUBECONFIG: "/nowhere/kubeconfig" };
  await expect(find(existing, { cache, env: missing })).rejects.toThrow("/nowhere/kubeconfig");
});

test("KUBEBUILDER_ASSETS takes what it lacks from PATH, and has to have etcd and kube-apiserver", async () => {
  const [folder, onPath] = [await temporaryFolder(), await temporaryFolder()];
  await writePrograms(folder, { etcd: "", "kube-apiserver": "" });
  await writePrograms(onPath, { "kube-controller-manager": "" });
  const { found } = await find(assets, { cache: folder, env: { KUBEBUILDER_ASSETS: folder, PATH: onPath } });
  expect(found).toEqual({
    kind: "binaries",
    binaries: {
      etcd: join(folder, "etcd"),
      apiserver: join(folder, "kube-apiserver"),
      controllerManager: join(onPath, "kube-controller-manager"),
    },
  });
  await chmod(join(folder, "etcd"), 0o644);
  await expect(find(assets, { cache: folder, env: { KUBEBUILDER_ASSETS: folder } })).rejects.toThrow("etcd");
});

test.runIf(process.platform === "linux")("envtest's archive is downloaded, verified, unpacked and kept", async () => {
  const { sources } = await publish();
  const cache = await temporaryFolder();
  const folder = join(cache, envtestKey(version));
  const binaries = {
    etcd: join(folder, "etcd"),
    apiserver: join(folder, "kube-apiserver"),
    controllerManager: join(folder, "kube-controller-manager"),
    kubectl: join(folder, "kubectl"),
  };
  expect((await find(cached, { cache })).found.kind).toBe("nothing");
  expect((await find(envtest(sources), { cache })).found).toEqual({ kind: "binaries", binaries });
  expect(await readFile(binaries.controllerManager, "utf8")).toBe("m");
  expect((await find(cached, { cache })).found).toEqual({ kind: "binaries", binaries });
  expect(await readdir(cache)).toEqual([envtestKey(version)]);
});

test.each([
  { name: "the archive is another than published", path: "/archive", reason: "sha512" },
  { name: "the index is not an index", path: "/index", reason: "not downloaded" },
])("nothing is kept when $name", async ({ path, reason }) => {
  const { sources, files } = await publish();
  const cache = await temporaryFolder();
  files.set(path, Buffer.from("tampered"));
  const { found, lines } = await find(envtest(sources), { cache });
  expect(found).toMatchObject({ kind: "nothing", reason: expect.stringContaining(reason) });
  expect(lines.at(-1)).toContain(reason);
  expect(await readdir(cache)).toEqual([]);
});

test("offline, envtest is skipped with one line", async () => {
  const { sources } = await publish();
  const cache = await temporaryFolder();
  const [nobody] = await freePorts(1);
  const { found, lines } = await find(envtest({ ...sources, index: `http://127.0.0.1:${nobody}/index` }), { cache });
  expect(found.kind).toBe("nothing");
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain("ECONNREFUSED");
});

test("kind's cluster is deleted at the end, also when it could not be created", async () => {
  const folder = await temporaryFolder();
  const calls = join(folder, "calls");
  const script = (status: number) => `#!/bin/sh\necho "$1 $4" >> ${calls}\n[ "$1" = delete ] || exit ${status}\n`;
  for (const [status, outcome] of [
    [0, "cluster"],
    [3, "nothing"],
  ] as const) {
    await writeFile(calls, "");
    await writePrograms(folder, { kind: script(status) });
    const { found } = await find(kind, { cache: folder, env: { PATH: folder } });
    expect(found.kind).toBe(outcome);
    if (found.kind === "cluster") {
      expect(await readFile(calls, "utf8")).toMatch(/^create mooring-\w+\n$/);
      await found.cluster.stop();
    }
    expect(await readFile(calls, "utf8")).toMatch(/^create (mooring-\w+)\ndelete \1\n$/);
  }
});

test("MOORING_CONTROL_PLANE picks providers without changing their order", () => {
  const names = (list: string | undefined) => selected(list).map(({ name }) => name);
  expect(names(undefined)).toEqual(["existing", "assets", "cached", "envtest", "build", "kind"]);
  expect(names("build, cached")).toEqual(["cached", "build"]);
  expect(() => names("cached,kid")).toThrow("kid");
});
