import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { type ControlPlane, startControlPlane } from "../../tools/cluster/control-plane.ts";
import { runProgram } from "../../tools/cluster/run-program.ts";
import { waitUntil } from "../../tools/cluster/wait-until.ts";
import { isAlive, readPids } from "../support/processes.ts";

const soon = { timeoutMs: 120_000, intervalMs: 200 };

function kubectlOf({ kubectl, kubeconfig }: { kubectl: string; kubeconfig: string }) {
  return (...args: string[]) => runProgram(kubectl, ["--kubeconfig", kubeconfig, ...args]);
}

describe("a control plane beside the one of all tests", () => {
  let own: ControlPlane;
  let kubectl: ReturnType<typeof kubectlOf>;
  beforeAll(async () => {
    own = await startControlPlane();
    kubectl = kubectlOf(own);
  });
  afterAll(() => own.stop());

  test("has objects of its own", async () => {
    const shared = kubectlOf({ kubectl: inject("kubectl"), kubeconfig: inject("kubeconfig") });
    await kubectl("create", "configmap", "only-here");
    expect(await kubectl("get", "configmap", "only-here", "-o", "name")).toBe("configmap/only-here");
    await expect(shared("get", "configmap", "only-here")).rejects.toThrow("not found");
  });

  test("a Deployment gets a ReplicaSet, and its pods a service account", async () => {
    await kubectl("create", "deployment", "web", "--image=example.test/web");
    const replicaSets = () => kubectl("get", "replicaset", "-l", "app=web", "-o", "name");
    const pods = () => kubectl("get", "pod", "-l", "app=web", "-o", "jsonpath={.items[*].spec.serviceAccountName}");
    await waitUntil("a ReplicaSet exists", async () => (await replicaSets()).startsWith("replicaset.apps/web-"), soon);
    await waitUntil("a pod exists", async () => (await pods()) === "default", soon);
  });

  test("what a deleted object owns is collected", async () => {
    await kubectl("create", "configmap", "owner");
    const uid = await kubectl("get", "configmap", "owner", "-o", "jsonpath={.metadata.uid}");
    await kubectl("create", "configmap", "owned");
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid }];
    await kubectl("patch", "configmap", "owned", "-p", JSON.stringify({ metadata: { ownerReferences } }));
    await kubectl("delete", "configmap", "owner");
    await kubectl("wait", "--for=delete", "configmap/owned", "--timeout=60s");
  });

  test("a deleted namespace ends", async () => {
    await kubectl("create", "namespace", "short");
    await kubectl("-n", "short", "create", "configmap", "inside");
    await kubectl("delete", "namespace", "short", "--timeout=60s");
    await expect(kubectl("get", "namespace", "short")).rejects.toThrow("not found");
  });

  test("nobody gets in without a token, and a service account may do only what RBAC allows", async () => {
    const can = (...who: string[]) => kubectl("auth", "can-i", "list", "secrets", ...who).catch(() => "no");
    expect(await can()).toBe("yes");
    expect(await can("--as=system:serviceaccount:default:default")).toBe("no");
    expect(await can("--as=system:anonymous", "--as-group=system:unauthenticated")).toBe("no");
  });
});

describe("nothing is left", () => {
  const up = new URL("../../tools/cluster/up.ts", import.meta.url).pathname;

  /** A process of its own that has a control plane: what a person or another test run has. */
  async function startElsewhere(): Promise<{ child: ChildProcess; dir: string; pids: number[] }> {
    const child = spawn(process.execPath, [up], { stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    for await (const line of createInterface({ input: child.stdout })) {
      const kubeconfig = /^export KUBECONFIG=(.*)$/.exec(line)?.[1];
      if (kubeconfig !== undefined) {
        const dir = dirname(kubeconfig);
        const pids = await readPids(dir);
        expect([...pids.keys()].sort()).toEqual(["etcd", "guardian", "kube-apiserver", "kube-controller-manager"]);
        return { child, dir, pids: [...pids.values()] };
      }
    }
    throw new Error("up.ts ended without a kubeconfig");
  }

  test.each(["SIGKILL", "SIGINT"] as const)("after %s of the process that had it", async (signal) => {
    const { child, dir, pids } = await startElsewhere();
    expect(pids.filter(isAlive)).toEqual(pids);
    const exit = once(child, "exit");
    child.kill(signal);
    expect(await exit).toEqual(signal === "SIGKILL" ? [null, "SIGKILL"] : [0, null]);
    await waitUntil(
      "its processes and its folder are gone",
      async () => !(pids.some(isAlive) || existsSync(dir)),
      soon,
    );
  });

  test("when starting is interrupted", async () => {
    const interrupt = new AbortController();
    const starting = startControlPlane({ signal: interrupt.signal, log: () => undefined });
    interrupt.abort(new Error("changed my mind"));
    await expect(starting).rejects.toThrow("changed my mind");
  });
});
