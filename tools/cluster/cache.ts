import { createHash } from "node:crypto";
import { mkdir, readFile, rename } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Binaries, binariesIn } from "./binaries.ts";
import { type Guarded, startGuarded } from "./guarded.ts";

/** The program that is the whole control plane, with its Go modules. */
export const moduleFolder = fileURLToPath(new URL("./controlplane", import.meta.url));

/** The Go modules of the newest and of the oldest Kubernetes that Mooring supports. */
export const MOD_FILES = ["go.mod", "oldest.mod"] as const;
export type ModFile = (typeof MOD_FILES)[number];

/**
 * The Go modules that the control plane is built from: of the newest Kubernetes that Mooring supports, or of the oldest with
 * `MOORING_KUBERNETES=oldest`. @throws Error on another value
 */
export function modFileOf(env: Readonly<Record<string, string | undefined>>): ModFile {
  const version = env["MOORING_KUBERNETES"] || "newest";
  if (version !== "newest" && version !== "oldest") {
    throw new Error(`MOORING_KUBERNETES=${version}: use newest or oldest`);
  }
  return version === "oldest" ? "oldest.mod" : "go.mod";
}

/** Files that decide what is built from these modules. */
export const filesOf = (mod: ModFile): string[] => [mod, mod.replace(/mod$/, "sum"), "main.go"];

/** The modules that this process uses. */
export const modFile = modFileOf(process.env);

/** Where what was built or downloaded is kept between runs: `mooring/controlplane` in the user's cache folder. */
export function cacheFolder(env: Readonly<Record<string, string | undefined>>): string {
  const base = env.XDG_CACHE_HOME || join(homedir(), ".cache");
  return join(base, "mooring", "controlplane");
}

/** Names what envtest's release `version` ("v1.36.2") is unpacked to on this kind of machine. */
export function envtestKey(version: string): string {
  return `envtest-${version}-${process.platform}-${process.arch}`;
}

/** Names what a Go module builds here: it changes with the module's files and with the machine's kind. */
export async function buildKey(
  folder: string = moduleFolder,
  files: readonly string[] = filesOf(modFile),
): Promise<string> {
  const hash = createHash("sha256").update(`${process.platform} ${process.arch}`);
  for (const name of files) {
    hash.update(`\0${name}\0`).update(await readFile(join(folder, name)));
  }
  return hash.digest("hex").slice(0, 16);
}

/** `fillWith` for the programs of a control plane. */
export async function fillFolder(
  folder: string,
  fill: (empty: string, guarded: Guarded) => Promise<void>,
): Promise<Binaries> {
  const binaries = await fillWith(folder, binariesIn, fill);
  if (binaries === undefined) {
    throw new Error(`${folder}: no etcd or no kube-apiserver in it after it was made`);
  }
  return binaries;
}

/**
 * Makes `folder` by letting `fill` write into an empty folder beside it, which then takes its name: `folder` is complete or not there,
 * also when two processes do this at once or one is killed. Programs that take long run guarded. Returns what `find` finds in it.
 */
export async function fillWith<T>(
  folder: string,
  find: (folder: string) => Promise<T | undefined>,
  fill: (empty: string, guarded: Guarded) => Promise<void>,
): Promise<T | undefined> {
  await mkdir(dirname(folder), { recursive: true });
  const guarded = await startGuarded();
  const partial = `${dirname(folder)}/.${basename(folder)}-${basename(guarded.dir)}`;
  try {
    guarded.atEnd("rm", ["-rf", partial]);
    await mkdir(partial);
    await fill(partial, guarded);
    await rename(partial, folder).catch(async (error: unknown) => {
      // Another process was faster: its folder is as good as ours.
      if ((await find(folder)) === undefined) {
        throw error;
      }
    });
  } finally {
    await guarded.stop();
  }
  return find(folder);
}
