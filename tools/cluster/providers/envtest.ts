import { chmod, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { complete, findProgram, pathFolders, programNames } from "../binaries.ts";
import { envtestKey, fillFolder, modFile, moduleFolder } from "../cache.ts";
import { createDownloader, type Downloader, reasonOf } from "../download.ts";
import { chooseArchive, type EnvtestArchive, parseEnvtestIndex } from "../envtest-index.ts";
import type { Guarded } from "../guarded.ts";
import { kubernetesVersion } from "../kubernetes-version.ts";
import { withProgress } from "../progress.ts";
import { type Finding, nothing, type Provider, type ProviderContext } from "../provider.ts";

/** Addresses: envtest's index, and Kubernetes' own releases, which have the controller manager that envtest's archives lack. */
export type EnvtestSources = { index: string; kubernetes: string };

const publicSources: EnvtestSources = {
  index: "https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml",
  kubernetes: "https://dl.k8s.io/release",
};

const architectures: Readonly<Record<string, string>> = {
  x64: "amd64",
  arm64: "arm64",
  ppc64: "ppc64le",
  s390x: "s390x",
};

/** The archives that controller-runtime's setup-envtest downloads too, checksums verified; quickly skipped without the internet. */
export function envtest(sources: EnvtestSources = publicSources): Provider {
  return {
    name: "envtest",
    find: async (context) => {
      const os = process.platform;
      const arch = architectures[process.arch];
      if (arch === undefined || !["linux", "darwin"].includes(os)) {
        return nothing(`no archives for ${os} on ${process.arch}`);
      }
      const controllerManager = await findProgram(programNames.controllerManager, pathFolders(context.env.PATH));
      const better = os === "linux" ? undefined : await findBetter(context);
      if (controllerManager === undefined && better !== undefined) {
        // Kubernetes publishes its server programs for Linux only.
        return nothing(`no ${programNames.controllerManager} is published for ${os}, and ${better} is here to get one`);
      }
      const downloader = createDownloader(context.signal);
      try {
        return await download(downloader, sources, { os, arch, controllerManager }, context);
      } catch (error) {
        context.signal?.throwIfAborted();
        const reason = `not downloaded: ${reasonOf(error)}`;
        context.log(`envtest: ${reason}`);
        return nothing(reason);
      } finally {
        await downloader.close();
      }
    },
  };
}

async function findBetter({ env }: ProviderContext): Promise<string | undefined> {
  const onPath = pathFolders(env.PATH);
  return (await findProgram("go", onPath)) ?? (await findProgram("kind", onPath));
}

type Machine = { os: string; arch: string; controllerManager: string | undefined };

async function download(
  downloader: Downloader,
  sources: EnvtestSources,
  { os, arch, controllerManager }: Machine,
  context: ProviderContext,
): Promise<Finding> {
  const pinned = kubernetesVersion(await readFile(join(moduleFolder, modFile), "utf8"));
  const minor = pinned.slice(1).split(".").slice(0, 2).join(".");
  const archive = chooseArchive(parseEnvtestIndex(await downloader.text(sources.index)), { minor, os, arch });
  if (archive === undefined) {
    return nothing(`the index has no archive for ${os} on ${arch}`);
  }
  const binaries = await fillFolder(join(context.cache, envtestKey(archive.version)), async (folder, guarded) => {
    await unpack(downloader, archive, folder, guarded, context);
    if (os === "linux") {
      await downloadControllerManager(
        downloader,
        `${sources.kubernetes}/${archive.version}/bin/${os}/${arch}`,
        folder,
        context,
      );
    }
  });
  return { kind: "binaries", binaries: complete(binaries, { controllerManager }) };
}

async function unpack(
  downloader: Downloader,
  { url, sha512, file }: EnvtestArchive,
  folder: string,
  guarded: Guarded,
  { log, signal }: ProviderContext,
): Promise<void> {
  const path = join(folder, file);
  log(`downloading ${url}`);
  let bytes = 0;
  const work = downloader.file(url, path, { algorithm: "sha512", hex: sha512 }, (now) => {
    bytes = now;
  });
  await withProgress(log, async () => `downloading (${toMebibytes(bytes)} MiB so far)`, work);
  // In it: controller-tools/envtest/<program>.
  await guarded.run("tar", "tar", ["-xzf", path, "-C", folder, "--strip-components=2"], { signal });
  await rm(path);
}

async function downloadControllerManager(
  downloader: Downloader,
  release: string,
  folder: string,
  { log }: ProviderContext,
): Promise<void> {
  const url = `${release}/${programNames.controllerManager}`;
  const path = join(folder, programNames.controllerManager);
  log(`downloading ${url}`);
  const hex = (await downloader.text(`${url}.sha256`)).trim().split(/\s/)[0] ?? "";
  let bytes = 0;
  const work = downloader.file(url, path, { algorithm: "sha256", hex }, (now) => {
    bytes = now;
  });
  await withProgress(log, async () => `downloading (${toMebibytes(bytes)} MiB so far)`, work);
  await chmod(path, 0o755);
}

function toMebibytes(bytes: number): number {
  return Math.round(bytes / 2 ** 20);
}
