import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { delimiter, join } from "node:path";

/** Paths of programs. Without `controllerManager` nothing collects garbage, ends namespaces or makes service accounts. */
export type Binaries = { etcd: string; apiserver: string; controllerManager?: string; kubectl?: string };

/** What programs are called in folders and on PATH. */
export const programNames = {
  etcd: "etcd",
  apiserver: "kube-apiserver",
  controllerManager: "kube-controller-manager",
  kubectl: "kubectl",
} as const;

/** The first executable file called `name` in one of `folders`. */
export async function findProgram(name: string, folders: readonly string[]): Promise<string | undefined> {
  for (const folder of folders) {
    const path = join(folder, name);
    try {
      await access(path, constants.X_OK);
      return path;
    } catch {
      // Not here: the next folder may have it.
    }
  }
  return undefined;
}

/** The folders of a PATH variable; empty entries (the current folder) are left out. */
export function pathFolders(path: string | undefined): string[] {
  return (path ?? "").split(delimiter).filter((folder) => folder !== "");
}

/** The programs in `folder`; undefined unless at least etcd and kube-apiserver are there. */
export async function binariesIn(folder: string): Promise<Binaries | undefined> {
  const find = (name: string) => findProgram(name, [folder]);
  const etcd = await find(programNames.etcd);
  const apiserver = await find(programNames.apiserver);
  if (etcd === undefined || apiserver === undefined) {
    return undefined;
  }
  return complete(
    { etcd, apiserver },
    { controllerManager: await find(programNames.controllerManager), kubectl: await find(programNames.kubectl) },
  );
}

/** `binaries` with what it lacks taken from `other`. */
export function complete(
  binaries: Binaries,
  other: { controllerManager?: string | undefined; kubectl?: string | undefined },
): Binaries {
  const controllerManager = binaries.controllerManager ?? other.controllerManager;
  const kubectl = binaries.kubectl ?? other.kubectl;
  return {
    etcd: binaries.etcd,
    apiserver: binaries.apiserver,
    ...(controllerManager === undefined ? {} : { controllerManager }),
    ...(kubectl === undefined ? {} : { kubectl }),
  };
}
