import { expect, it, onTestFinished } from "vitest";
import { namespaceResource } from "../../src/kube/resource.ts";
import { installationNamespace } from "../support/installation-namespace.ts";
import { manifest } from "../support/manifests.ts";
import { startRestarted } from "../support/restarted-operator.ts";
import { untilStarted } from "../support/serving.ts";
import { condition, createWorld, eventsOf, eventually, type World, waitForCondition } from "../support/world.ts";

const JOBS = 40;
/** A response takes this long after its effect. */
const LATENCY_MS = 5_000;

/** Deleted after the test. */
async function temporaryNamespace(world: World): Promise<string> {
  const name = await installationNamespace(world);
  onTestFinished(() => world.kube.delete(namespaceResource, { name }));
  return name;
}

it(`two installations for the same namespace: none of ${JOBS} jobs is paid twice, and the second one says why it waits`, async (test) => {
  const world = await createWorld("installations", { simulator: { timeScale: 0.5 } });
  const second = await temporaryNamespace(world);
  const third = await temporaryNamespace(world);
  const names = Array.from({ length: JOBS }, (_, index) => `job-${index}`);

  const operators = await Promise.all([
    world.startOperator(),
    world.startOperator({ args: [`--operator-namespace=${second}`] }),
  ]);
  for (const operator of operators) {
    await untilStarted(operator);
  }
  // Long enough for both installations to have a request of the same job in flight.
  await world.control("POST", "/__faults", [
    { operation: "submitSpeech", kind: "latency", latencyMs: LATENCY_MS, after: true, probability: 1 },
    { operation: "createEndpoint", kind: "latency", latencyMs: LATENCY_MS, after: true, probability: 1 },
  ]);
  await Promise.all(names.map((name) => world.apply(manifest("hd", {}, name))));
  for (const name of ["one", "two"]) await world.apply(manifest("endpoint", {}, name));
  for (const name of names) await waitForCondition(world, "SpeechJob", name, "Complete");
  for (const name of ["one", "two"]) await waitForCondition(world, "GpuEndpoint", name, "Ready");
  expect(await world.audit("submitSpeech")).toHaveLength(JOBS);
  expect(await world.audit("createEndpoint")).toHaveLength(2);

  // The account shows who uses it, and how to resolve it.
  const account = await eventually("the second installation is seen", async () => {
    const object = await world.get("Account", "default");
    return condition(object, "Contested") !== undefined && object;
  });
  const { server } = account.status as { server: { namespace: string } };
  const { namespace: installation } = server;
  expect([world.namespace, second]).toContain(installation);
  expect(condition(account, "Ready")?.status).toBe("True");
  expect(condition(account, "Contested")).toMatchObject({ status: "True", reason: "ServedByAnotherInstallation" });
  expect(condition(account, "Contested")?.message).toContain(
    `kubectl patch account -n ${world.namespace} default --subresource=status`,
  );
  expect(await eventsOf(world, "Account", "default")).toContainEqual(
    expect.stringContaining("Warning ServedByAnotherInstallation: Two installations of Mooring serve this account"),
  );
  const [holder, waiting] = installation === second ? [...operators].reverse() : operators;
  const { probes } = startOf(waiting?.log() ?? "");
  const readiness = await fetch(`http://127.0.0.1:${probes}/readyz?verbose`);
  expect(readiness.status).toBe(500);
  expect(await readiness.text()).toContain("Two installations of Mooring serve this account");
  expect(waiting?.log()).toContain("Two installations of Mooring serve this account");

  // After an uninstall, another installation has the account at once, because it was released, and continues with the objects.
  await waiting?.stop();
  await holder?.stop();
  await startRestarted(test, world, [`--operator-namespace=${third}`]);
  await world.apply(manifest("hd", {}, "after"));
  await waitForCondition(world, "SpeechJob", "after", "Complete");
  expect(await world.audit("submitSpeech")).toHaveLength(JOBS + 1);
  expect(await world.audit("createEndpoint")).toHaveLength(2);
  const handed = await world.get("Account", "default");
  expect(handed.status?.server).toMatchObject({ namespace: third });
  expect(condition(handed, "Contested")).toBeUndefined();
});

/** The log line of the start, which has the port of the probes. */
function startOf(log: string): { probes: number } {
  const line = log.split("\n").find((one) => one.includes('"msg":"operator starts"'));
  return JSON.parse(line ?? "{}") as { probes: number };
}
