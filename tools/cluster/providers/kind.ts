import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { findProgram, pathFolders } from "../binaries.ts";
import { startGuarded } from "../guarded.ts";
import { withProgress } from "../progress.ts";
import { nothing, type Provider } from "../provider.ts";

/** A cluster of its own made by kind, which needs Docker, Podman or nerdctl; deleted at the end. */
export const kind: Provider = {
  name: "kind",
  lastResort: true,
  find: async ({ env, log, signal }) => {
    const program = await findProgram("kind", pathFolders(env.PATH));
    if (program === undefined) {
      return nothing("there is no kind on PATH (https://kind.sigs.k8s.io)");
    }
    const guarded = await startGuarded();
    try {
      const name = `mooring-${randomBytes(4).toString("hex")}`;
      const kubeconfig = join(guarded.dir, "kubeconfig");
      log(`creating a cluster with kind, ${name}`);
      guarded.atEnd(program, ["delete", "cluster", "--name", name, "--kubeconfig", kubeconfig]);
      const create = ["create", "cluster", "--name", name, "--kubeconfig", kubeconfig, "--wait", "180s"];
      await withProgress(log, async () => "creating", guarded.run("kind", program, create, { signal }));
      return { kind: "cluster", cluster: { kubeconfig, dir: guarded.dir, stop: guarded.stop } };
    } catch (error) {
      await guarded.stop();
      signal?.throwIfAborted();
      return nothing(error instanceof Error ? error.message : String(error));
    }
  },
};
