import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { buildKey, cacheFolder, modFileOf, moduleFolder } from "../../../tools/cluster/cache.ts";
import { kubernetesVersion } from "../../../tools/cluster/kubernetes-version.ts";

test("the cache is in the user's cache folder", () => {
  expect(cacheFolder({ XDG_CACHE_HOME: "/x" })).toBe("/x/mooring/controlplane");
  expect(cacheFolder({ XDG_CACHE_HOME: "" })).toBe(join(homedir(), ".cache/mooring/controlplane"));
});

test.each(["go.mod", "go.sum", "main.go"])("a change of %s asks for another build", async (name) => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-test-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await cp(moduleFolder, folder, { recursive: true });
  expect(await buildKey(folder)).toBe(await buildKey());
  await writeFile(join(folder, name), "changed");
  expect(await buildKey(folder)).not.toBe(await buildKey());
});

test("the version of Kubernetes comes from go.mod", () => {
  expect(kubernetesVersion("require (\n\tk8s.io/component-base v0.36.3\n\tk8s.io/kubernetes v1.36.3\n)")).toBe(
    "v1.36.3",
  );
  expect(() => kubernetesVersion("replace k8s.io/kubernetes => ../x")).toThrow("k8s.io/kubernetes");
});

test("MOORING_KUBERNETES selects the newest or the oldest Kubernetes for the same program", async () => {
  const [newest, oldest] = [modFileOf({}), modFileOf({ MOORING_KUBERNETES: "oldest" })];
  expect(modFileOf({ MOORING_KUBERNETES: "newest" })).toBe(newest);
  expect(oldest).not.toBe(newest);
  expect(() => modFileOf({ MOORING_KUBERNETES: "1.31" })).toThrow("MOORING_KUBERNETES=1.31: use newest or oldest");
  const read = (folder: string, name: string) => readFile(join(folder, name), "utf8");

  // The oldest one is what the chart accepts, and what the documentation names.
  const [, minor = ""] = /v(1\.\d+)\./.exec(kubernetesVersion(await read(moduleFolder, oldest))) ?? [];
  const root = fileURLToPath(new URL("../../..", import.meta.url));
  expect(await read(root, "charts/mooring/Chart.yaml")).toContain(`kubeVersion: ">=${minor}.0-0"`);
  expect(await read(root, "docs/how-to/install.md")).toContain(`You need Kubernetes ${minor} or newer`);
});
