import { execFile } from "node:child_process";
import { runProgram } from "../../tools/cluster/run-program.ts";
import { waitUntil } from "../../tools/cluster/wait-until.ts";

export type Item = {
  metadata: { name: string; finalizers?: string[] };
  status?: { phase?: string; conditions?: { type: string; status: string }[] };
};

export type Kubectl = ReturnType<typeof kubectlOf>;

/** kubectl as a user of the cluster runs it. */
export function kubectlOf(kubeconfig: string) {
  const kubectl = (...args: string[]) => runProgram("kubectl", ["--kubeconfig", kubeconfig, ...args]);

  /** kubectl with standard input. */
  function kubectlWith(input: string, ...args: string[]): Promise<string> {
    return new Promise((resolve, reject) => {
      const all = ["--kubeconfig", kubeconfig, ...args];
      const child = execFile("kubectl", all, { maxBuffer: 64 << 20 }, (error, stdout) =>
        error === null ? resolve(stdout) : reject(error),
      );
      child.stdin?.end(input);
    });
  }

  return {
    kubectl,
    kubectlWith,
    list: async (kind: string, ...where: string[]): Promise<Item[]> =>
      JSON.parse(await kubectl("get", kind, ...where, "-o", "json")).items,
    /** @throws Error if the cluster has Mooring's kinds: the tests delete them, and with them every object. */
    async refuseUsedCluster(): Promise<void> {
      const kinds = await kubectl("get", "crd", "-o", "name");
      if (kinds.includes(".mooring.dev")) {
        throw new Error("the cluster has Mooring's kinds already: take another cluster");
      }
    },
  };
}

export function isTrue({ status }: Item, type: string): boolean {
  return status?.conditions?.some((condition) => condition.type === type && condition.status === "True") === true;
}

export const until = (what: string, condition: () => Promise<boolean>, timeoutMs = 120_000) =>
  waitUntil(what, condition, { timeoutMs, intervalMs: 250 });
