import { readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { type Binaries, binariesIn, findProgram, pathFolders, programNames } from "../binaries.ts";
import { buildKey, filesOf, fillFolder, type ModFile, modFile, moduleFolder } from "../cache.ts";
import type { Guarded } from "../guarded.ts";
import { kubernetesVersion } from "../kubernetes-version.ts";
import { withProgress } from "../progress.ts";
import { nothing, type Provider, type ProviderContext } from "../provider.ts";

/** A build of one binary with all programs from their Go modules (controlplane/), kept for the next runs. */
export const build: Provider = {
  name: "build",
  find: async (context) => {
    const go = await findProgram("go", pathFolders(context.env.PATH));
    if (go === undefined) {
      return nothing("there is no go on PATH (https://go.dev/dl)");
    }
    try {
      return { kind: "binaries", binaries: await buildKubernetes(modFile, go, context) };
    } catch (error) {
      context.signal?.throwIfAborted();
      return nothing(error instanceof Error ? error.message : String(error));
    }
  },
};

async function buildKubernetes(mod: ModFile, go: string, context: ProviderContext): Promise<Binaries> {
  const folder = join(context.cache, await buildKey(moduleFolder, filesOf(mod)));
  return fillFolder(folder, (empty, guarded) => compile({ mod, go, context }, empty, guarded));
}

/**
 * The programs of this version of Kubernetes: those of an earlier build, else built now, which takes minutes.
 * @throws Error when there is no Go, or the build fails
 */
export async function kubernetesBinaries(mod: ModFile, context: ProviderContext): Promise<Binaries> {
  const earlier = await binariesIn(join(context.cache, await buildKey(moduleFolder, filesOf(mod))));
  if (earlier !== undefined) return earlier;
  const go = await findProgram("go", pathFolders(context.env.PATH));
  if (go === undefined) throw new Error("there is no go on PATH to build Kubernetes with (https://go.dev/dl)");
  return buildKubernetes(mod, go, context);
}

type Compilation = { mod: ModFile; go: string; context: ProviderContext };

async function compile({ mod, go, context }: Compilation, folder: string, guarded: Guarded): Promise<void> {
  const { log, signal } = context;
  const version = kubernetesVersion(await readFile(join(moduleFolder, mod), "utf8"));
  log(`building Kubernetes ${version} from its Go modules: some minutes, once (kept in the user's cache folder)`);
  const env = { CGO_ENABLED: "0", GOFLAGS: `-mod=readonly -modfile=${mod}`, GOWORK: "off", GOTMPDIR: guarded.dir };
  const run = (name: string, ...args: string[]) => guarded.run(name, go, args, { cwd: moduleFolder, env, signal });

  const listed = async () => countLines(await guarded.output("go-list"));
  await withProgress(
    log,
    async () => `fetching Go modules (${(await listed()).downloads} so far)`,
    run("go-list", "list", "-deps", "."),
  );
  const total = (await listed()).others;
  const [major = "", minor = ""] = version.slice(1).split(".");
  const variables = { gitVersion: version, gitMajor: major, gitMinor: minor };
  const set = Object.entries(variables).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`);
  const output = join(folder, "mooring-controlplane");
  await withProgress(
    log,
    async () => `compiling (${countLines(await guarded.output("go-build")).others} packages of at most ${total})`,
    run("go-build", "build", "-v", "-trimpath", "-ldflags", ["-s -w", ...set].join(" "), "-o", output, "."),
  );
  // The binary is whatever it is called as.
  await Promise.all(Object.values(programNames).map((name) => symlink("mooring-controlplane", join(folder, name))));
}

/** Go prints a line per module it fetches and, apart from those, one per package. */
function countLines(text: string): { downloads: number; others: number } {
  const lines = text.split("\n").filter((line) => line !== "");
  const downloads = lines.filter((line) => line.startsWith("go: downloading ")).length;
  return { downloads, others: lines.length - downloads };
}
