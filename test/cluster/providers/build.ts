import { readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { findProgram, pathFolders, programNames } from "../binaries.ts";
import { buildKey, fillFolder, moduleFolder } from "../cache.ts";
import { withProgress } from "../progress.ts";
import { nothing, type Provider, type ProviderContext } from "../provider.ts";
import { runProgram } from "../run-program.ts";

/** A build of one binary with all programs from their Go modules (controlplane/), kept for the next runs. */
export const build: Provider = {
  name: "build",
  find: async (context) => {
    const go = await findProgram("go", pathFolders(context.env.PATH));
    if (go === undefined) {
      return nothing("there is no go on PATH (https://go.dev/dl)");
    }
    try {
      const folder = join(context.cache, await buildKey());
      return { kind: "binaries", binaries: await fillFolder(folder, (empty) => compile(go, empty, context)) };
    } catch (error) {
      context.signal?.throwIfAborted();
      return nothing(error instanceof Error ? error.message : String(error));
    }
  },
};

async function compile(go: string, folder: string, { env, log, signal }: ProviderContext): Promise<void> {
  const version = kubernetesVersion(await readFile(join(moduleFolder, "go.mod"), "utf8"));
  log(`building Kubernetes ${version} from its Go modules: some minutes, once (kept in the user's cache folder)`);
  const options = {
    cwd: moduleFolder,
    env: { ...env, CGO_ENABLED: "0", GOFLAGS: "-mod=readonly", GOWORK: "off" },
    signal,
  };

  let downloaded = 0;
  const packages = await withProgress(
    log,
    () => `fetching Go modules (${downloaded} so far)`,
    runProgram(go, ["list", "-deps", "."], {
      ...options,
      onLine: (line) => {
        downloaded += line.startsWith("go: downloading ") ? 1 : 0;
      },
    }),
  );
  const total = packages.split("\n").length;
  let compiled = 0;
  const [major = "", minor = ""] = version.slice(1).split(".");
  const variables = { gitVersion: version, gitMajor: major, gitMinor: minor };
  const set = Object.entries(variables).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`);
  const output = join(folder, "mooring-controlplane");
  await withProgress(
    log,
    () => `compiling (${compiled} packages of at most ${total})`,
    runProgram(go, ["build", "-v", "-trimpath", "-ldflags", ["-s -w", ...set].join(" "), "-o", output, "."], {
      ...options,
      onLine: () => {
        compiled += 1;
      },
    }),
  );
  // The binary is whatever it is called as.
  await Promise.all(Object.values(programNames).map((name) => symlink("mooring-controlplane", join(folder, name))));
}

/** The version of Kubernetes (`v1.36.3`) that a go.mod requires. */
export function kubernetesVersion(goMod: string): string {
  const version = /^\s*(?:require\s+)?k8s\.io\/kubernetes\s+(v\d+\.\d+\.\d+)\s*$/m.exec(goMod)?.[1];
  if (version === undefined) {
    throw new Error("controlplane/go.mod: no `k8s.io/kubernetes vX.Y.Z` among its requirements");
  }
  return version;
}
