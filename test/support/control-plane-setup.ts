import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { startControlPlane } from "../../tools/cluster/control-plane.ts";
import { runProgram } from "../../tools/cluster/run-program.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Path of a kubeconfig whose user may do everything; Mooring's CRDs are installed. */
    kubeconfig: string;
    /** Path of a kubectl that works with it. */
    kubectl: string;
  }
}

const crds = fileURLToPath(new URL("../../crds", import.meta.url));

/** One control plane for all integration tests, with the CRDs of crds/ established. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { kubeconfig, kubectl, stop } = await startControlPlane();
  try {
    await installCRDs(kubectl, kubeconfig);
  } catch (error) {
    await stop();
    throw error;
  }
  project.provide("kubeconfig", kubeconfig);
  project.provide("kubectl", kubectl);
  return stop;
}

/** Applies crds/, and waits until the API server serves them. */
export async function installCRDs(kubectl: string, kubeconfig: string): Promise<void> {
  const manifests = (await readdir(crds)).filter((name) => name.endsWith(".yaml")).sort();
  if (manifests.length === 0) return;
  const files = manifests.flatMap((name) => ["-f", join(crds, name)]);
  const run = (...args: string[]) => runProgram(kubectl, ["--kubeconfig", kubeconfig, ...args]);
  await run("apply", "--server-side", "--force-conflicts", ...files);
  await run("wait", "--for=condition=Established", "--timeout=180s", ...files);
}
