import { join } from "node:path";
import { runProgram } from "../../tools/cluster/run-program.ts";
import { tool } from "../../tools/programs/tool.ts";
import { kubectlOf } from "./kubectl.ts";
import type { Prepared } from "./setup.ts";

export const RELEASE = "mooring";

export type AuditEntry = {
  operation: string;
  status: number | string;
  effect?: unknown;
  id?: string;
  body?: { text?: string };
};

/** The chart's release in a cluster, as a user handles it: with kubectl, helm and the commands of the npm package. */
export type Release = ReturnType<typeof releaseIn>;

export function releaseIn({ kubeconfig, release, commands, version }: Prepared, namespace: string) {
  const tools = kubectlOf(kubeconfig);
  const { kubectl } = tools;
  const helm = async (...args: string[]) =>
    runProgram(await tool("helm"), ["--kubeconfig", kubeconfig, "--namespace", namespace, ...args]);
  const chart = join(release, `mooring-${version}.tgz`);
  const service = `/api/v1/namespaces/${namespace}/services/${RELEASE}-simulator:http/proxy`;

  return {
    ...tools,
    namespace,
    helm,
    /** The packed chart with its own image, and no other image settings. */
    install: (...settings: string[]) =>
      helm("upgrade", "--install", RELEASE, chart, "--wait", "--timeout=5m", ...settings),
    mooring: (...args: string[]) =>
      runProgram(join(commands, "bin/mooring"), args, { env: { ...process.env, KUBECONFIG: kubeconfig } }),
    /** The pod that serves ClusterAccount `default`; undefined while none does. A process has the name of its pod and a random part. */
    async server(): Promise<string | undefined> {
      const path = "jsonpath={.status.server}";
      const text = await kubectl("get", "clusteraccount", "default", "-o", path);
      const { lease = "", released } = JSON.parse(text || "{}") as { lease?: string; released?: string };
      return released === undefined && lease !== "" ? lease.replace(/-[^-]+$/, "") : undefined;
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
  };
}
