import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { inject, it, type TestContext } from "vitest";
import { isNotFound } from "../../src/kube/errors.ts";
import { namespaceResource } from "../../src/kube/resource.ts";
import { manifest } from "../support/manifests.ts";
import { startRestarted } from "../support/restarted-operator.ts";
import { condition, createWorld, eventually, type World, waitForCondition } from "../support/world.ts";

const NAMES = ["one", "two", "three", "four", "five"];
const SECRETS_GONE = "Secret first";
const ACCOUNT_GONE = "Secret and account first";

/** A namespace that holds everything: key, account, five endpoints with their exports. The operator's lease is elsewhere. */
async function inhabited(
  test: Pick<TestContext, "onTestFailed" | "onTestFinished">,
): Promise<{ world: World; restart: () => Promise<void> }> {
  const world = await createWorld("farewell");
  const leases = `${world.namespace}-leases`;
  await world.kube.create(namespaceResource, {}, { metadata: { name: leases }, spec: {} });
  test.onTestFinished(() => world.kube.delete(namespaceResource, { name: leases }));
  const start = () => startRestarted(test, world, [`--operator-namespace=${leases}`]);
  const stop = await start();
  await Promise.all(
    NAMES.map(async (name) => {
      await world.apply(manifest("endpoint", { exportTo: { configMap: { name: `${name}-export` } } }, name));
      await waitForCondition(world, "GpuEndpoint", name, "Ready");
    }),
  );
  const restart = async () => {
    await stop();
    await start();
  };
  return { world, restart };
}

/** Takes things away in the worst order, and sees to it that the operator has noticed. */
async function impoverish(world: World, what: string): Promise<void> {
  await world.remove("Secret", "key");
  await world.patch("Account", "default", { metadata: { annotations: { "mooring.dev/reconcile-requested-at": "1" } } });
  await waitForCondition(world, "Account", "default", "Stalled");
  if (what !== ACCOUNT_GONE) return;
  await world.remove("Account", "default");
  await eventually("the account is gone, by force", async () => {
    if ((await world.list("Account")).length === 0) return true;
    await world.patch("Account", "default", { metadata: { finalizers: null } });
    return false;
  });
  await waitForCondition(world, "GpuEndpoint", "one", "Stalled");
}

/** Kubernetes deletes what is in a namespace one namespace after another, in a loaded cluster minutes later. */
const CONTROLLER_MS = 600_000;

const kubectl = (...args: string[]) =>
  promisify(execFile)(inject("kubectl"), ["--kubeconfig", inject("kubeconfig"), ...args]);

const isGone = (world: World) => async () => {
  try {
    await world.kube.get(namespaceResource, { name: world.namespace });
    return false;
  } catch (error) {
    if (isNotFound(error)) return true;
    throw error;
  }
};

async function scales(world: World): Promise<string[]> {
  const { endpoints } = await world.state();
  return endpoints.map(({ parameters }) => {
    const { workerConfig } = parameters as { workerConfig: { minNum: number; maxNum: number } };
    return `${workerConfig.minNum}/${workerConfig.maxNum}`;
  });
}

it.concurrent.for(["everything at once", SECRETS_GONE, ACCOUNT_GONE])(
  "a namespace goes, %s, and its endpoints are scaled to zero",
  { timeout: 3 * CONTROLLER_MS },
  async (what, test) => {
    const { expect } = test;
    const { world } = await inhabited(test);
    expect(await scales(world)).toEqual(NAMES.map(() => "1/2"));
    if (what !== "everything at once") await impoverish(world, what);
    await kubectl("delete", "namespace", world.namespace, "--wait=false");
    await eventually("the namespace is gone", isGone(world), CONTROLLER_MS);
    expect(await scales(world)).toEqual(NAMES.map(() => "0/0"));
    expect(await world.audit("createEndpoint")).toHaveLength(NAMES.length);
  },
);

it.concurrent.for([SECRETS_GONE, ACCOUNT_GONE])(
  "%s, and the operator was started anew: the objects say so, and their lines let the namespace go",
  { timeout: 3 * CONTROLLER_MS },
  async (what, test) => {
    const { expect } = test;
    const { world, restart } = await inhabited(test);
    await impoverish(world, what);
    await restart();
    await kubectl("delete", "namespace", world.namespace, "--wait=false");
    const lines = await Promise.all(
      NAMES.map(async (name) => {
        const line = `kubectl annotate gpuendpoint -n ${world.namespace} ${name} mooring.dev/deletion-policy=Retain --overwrite`;
        return eventually(
          `${name} says why it stays`,
          async () => {
            const object = await world.get("GpuEndpoint", name);
            const { reason, message } = condition(object, "Stalled") ?? {};
            if (object.metadata.deletionTimestamp === undefined || !message?.endsWith(line)) return false;
            expect(reason).toBe(what === ACCOUNT_GONE ? "AccountNotFound" : "AccountNotReady");
            return line;
          },
          CONTROLLER_MS,
        );
      }),
    );
    for (const line of lines) await kubectl(...line.split(" ").slice(1));
    await eventually("the namespace is gone", isGone(world), CONTROLLER_MS);
    expect(await scales(world)).toEqual(NAMES.map(() => "1/2"));
  },
);
