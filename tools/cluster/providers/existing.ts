import { access } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { nothing, type Provider } from "../provider.ts";

/** `USE_EXISTING_CLUSTER=true` with KUBECONFIG (one file): that cluster, as it is. It is never stopped. */
export const existing: Provider = {
  name: "existing",
  find: async ({ env }) => {
    if (env.USE_EXISTING_CLUSTER !== "true") {
      return nothing("USE_EXISTING_CLUSTER is not true");
    }
    if (env.KUBECONFIG === undefined || env.KUBECONFIG === "") {
      throw new Error(
        "USE_EXISTING_CLUSTER is true but KUBECONFIG is not set: set it to the path of the cluster's kubeconfig",
      );
    }
    const kubeconfig = resolve(env.KUBECONFIG);
    await access(kubeconfig).catch((cause: unknown) => {
      throw new Error(`KUBECONFIG=${env.KUBECONFIG}: not a file that can be read; it has to be one path`, { cause });
    });
    return { kind: "cluster", cluster: { kubeconfig, dir: dirname(kubeconfig), stop: async () => undefined } };
  },
};
