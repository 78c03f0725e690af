import { execFile } from "node:child_process";
import { runProgram } from "../../tools/cluster/run-program.ts";
import { waitUntil } from "../../tools/cluster/wait-until.ts";
import { tool } from "../../tools/programs/tool.ts";
import { CHART } from "../support/chart.ts";
import type { Cluster } from "./cluster.ts";

export const RELEASE = "mooring";

export type Item = {
  metadata: { name: string; finalizers?: string[] };
  status?: { phase?: string; conditions?: { type: string; status: string }[] };
};
export type AuditEntry = {
  operation: string;
  status: number | string;
  effect?: unknown;
  id?: string;
  body?: { text?: string };
};

/** The chart's release in a cluster, as a user handles it: with kubectl and helm. */
export type Release = ReturnType<typeof releaseIn>;

export function releaseIn({ kubeconfig, repository, tag }: Cluster, namespace: string) {
  const kubectl = (...args: string[]) => runProgram("kubectl", ["--kubeconfig", kubeconfig, ...args]);
  const helm = async (...args: string[]) =>
    runProgram(await tool("helm"), ["--kubeconfig", kubeconfig, "--namespace", namespace, ...args]);
  const image = ["--set", `image.repository=${repository},image.tag=${tag},image.pullPolicy=IfNotPresent`];
  const service = `/api/v1/namespaces/${namespace}/services/${RELEASE}-simulator:http/proxy`;

  /** kubectl with standard input. */
  function kubectlWith(input: string, ...args: string[]): Promise<string> {
    return new Promise((resolve, reject) => {
      const child = execFile(
        "kubectl",
        ["--kubeconfig", kubeconfig, ...args],
        { maxBuffer: 64 << 20 },
        (error, stdout) => (error === null ? resolve(stdout) : reject(error)),
      );
      child.stdin?.end(input);
    });
  }

  return {
    namespace,
    kubectl,
    kubectlWith,
    helm,
    install: (...settings: string[]) =>
      helm("upgrade", "--install", RELEASE, CHART, "--wait", "--timeout=5m", ...image, ...settings),
    list: async (kind: string, ...where: string[]): Promise<Item[]> =>
      JSON.parse(await kubectl("get", kind, ...where, "-o", "json")).items,
    /** The pod whose operator holds the lease; undefined while nobody does. */
    async leader(): Promise<string | undefined> {
      const holder = await kubectl(
        "-n",
        namespace,
        "get",
        "lease",
        "mooring-operator",
        "-o",
        "jsonpath={.spec.holderIdentity}",
      );
      return holder === "" ? undefined : holder.split("_")[0];
    },
    /** What the simulator was asked. */
    audit: async (operation: string): Promise<AuditEntry[]> =>
      JSON.parse(await kubectl("get", "--raw", `${service}/__audit?operation=${operation}`)),
    /** Changes what the simulator does, as `POST /__config`. */
    configure(config: object): Promise<string> {
      const script = `
        const body = ${JSON.stringify(JSON.stringify(config))};
        const headers = { "content-type": "application/json" };
        const answer = await fetch("http://127.0.0.1:8090/__config", { method: "POST", headers, body });
        if (!answer.ok) throw new Error(await answer.text());`;
      const pod = `deployment/${RELEASE}-simulator`;
      return kubectl("-n", namespace, "exec", pod, "--", "node", "--input-type=module", "-e", script);
    },
    until: (what: string, condition: () => Promise<boolean>, timeoutMs = 120_000) =>
      waitUntil(what, condition, { timeoutMs, intervalMs: 250 }),
  };
}

export function isTrue({ status }: Item, type: string): boolean {
  return status?.conditions?.some((condition) => condition.type === type && condition.status === "True") === true;
}
