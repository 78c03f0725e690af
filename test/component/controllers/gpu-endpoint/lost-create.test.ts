import { describe, expect, it } from "vitest";
import { getCondition } from "../../../../src/api/v1alpha1/conditions.ts";
import { ANNOTATIONS } from "../../../../src/api/v1alpha1/meta.ts";
import { KEY } from "../../provider/http/make-client.ts";
import { OTHER_KEY, type ReconciledEndpoint, reconciledEndpoint } from "./world.ts";

const MINUTES_MS = 3 * 60_000;
const SERVING = ["Ready=True/Serving", "Synced=True/InSync"];

/** The operator sends a create, and crashes before it knows the outcome. Then the Secret has the key of another member. */
async function createdWithFormerKey(
  took: "Effect" | "NoEffect",
  options: Parameters<typeof reconciledEndpoint>[1] = {},
): Promise<ReconciledEndpoint> {
  const world = await reconciledEndpoint({}, { simulator: { keySees: "Member" }, ...options });
  await world.bench.fault({ operation: "createEndpoint", kind: took === "Effect" ? "resetAfter" : "resetBefore" });
  await world.reconcile();
  expect(world.openCreate()).toMatchObject({ operation: "createEndpoint", keyVersion: `version-of-${KEY}` });
  world.restart();
  world.rotateKey(OTHER_KEY);
  return world;
}

const creates = async ({ bench }: ReconciledEndpoint) => (await bench.audit("?operation=createEndpoint")).length;

async function scales({ bench }: ReconciledEndpoint): Promise<string[]> {
  const { endpoints } = (await (await fetch(`${bench.url}/__state`)).json()) as {
    endpoints: { parameters: { workerConfig: { minNum: number; maxNum: number } } }[];
  };
  return endpoints.map(({ parameters: { workerConfig } }) => `${workerConfig.minNum}/${workerConfig.maxNum}`);
}

it("a create of another process is not judged while that process lives: it writes the outcome", async () => {
  const world = await reconciledEndpoint();
  await world.bench.fault({ operation: "createEndpoint", kind: "resetBefore" });
  await world.reconcile();
  const [record, status] = [world.openCreate(), world.status()];
  expect(record).toMatchObject({ attempt: 1 });
  let ended = false;
  world.restart(() => ended);
  expect(await world.reconcile()).toBe(2_000);
  expect([world.openCreate(), world.status(), await creates(world)]).toEqual([record, status, 1]);
  ended = true;
  await world.reconcileFor(MINUTES_MS);
  expect([world.conditions(), await creates(world), world.openCreate()]).toEqual([SERVING, 2, undefined]);
});

describe("a create whose response was lost before the key of the account changed", () => {
  it.each(["Effect", "NoEffect"] as const)("%s: is not repeated, and the endpoint says what to do", async (took) => {
    const world = await createdWithFormerKey(took);
    await world.reconcileFor(MINUTES_MS);
    expect(world.conditions()).toEqual(["Ready=False/RemoteMissing", "Stalled=True/RemoteMissing"]);
    const message = getCondition(world.status().conditions, "Stalled")?.message;
    expect(message).toMatch(
      /the endpoint may run: put the former key into the Secret of the account\. .*kubectl annotate gpuendpoint .* --overwrite$/,
    );
    expect([await creates(world), world.openCreate()?.attempt]).toEqual([1, 1]);
  });

  it("is found when the former key returns", async () => {
    const world = await createdWithFormerKey("Effect");
    await world.reconcileFor(MINUTES_MS);
    world.rotateKey(KEY);
    await world.reconcileFor(MINUTES_MS);
    expect(world.conditions()).toEqual(SERVING);
    expect([await creates(world), world.openCreate()]).toEqual([1, undefined]);
  });

  it("is found with a key that shows the endpoints of the same account", async () => {
    const world = await createdWithFormerKey("Effect", { simulator: { keySees: "Account" } });
    await world.reconcileFor(MINUTES_MS);
    expect(world.conditions()).toEqual(SERVING);
    expect([await creates(world), world.openCreate()]).toEqual([1, undefined]);
  });

  it("is repeated when the former key returns and does not show the endpoint either", async () => {
    const world = await createdWithFormerKey("NoEffect");
    await world.reconcileFor(MINUTES_MS);
    world.rotateKey(KEY);
    await world.reconcileFor(MINUTES_MS);
    expect(world.conditions()).toEqual(SERVING);
    expect([await creates(world), world.openCreate()]).toEqual([2, undefined]);
  });

  it("is repeated with the new key when a user requests it", async () => {
    const world = await createdWithFormerKey("NoEffect");
    await world.reconcileFor(MINUTES_MS);
    world.annotate({ [ANNOTATIONS.reconcileRequestedAt]: "now" });
    await world.reconcileFor(MINUTES_MS);
    expect(world.conditions()).toEqual(SERVING);
    expect([await creates(world), world.openCreate()]).toEqual([2, undefined]);
  });

  it("is repeated when a user requests it and the budget allows it later", async () => {
    const world = await createdWithFormerKey("NoEffect");
    await world.reconcileFor(MINUTES_MS);
    const allow = world.exhaustBudget();
    world.annotate({ [ANNOTATIONS.reconcileRequestedAt]: "now" });
    await world.reconcileFor(MINUTES_MS);
    expect(world.conditions()).toContain("Reconciling=True/BudgetExceeded");
    expect([await creates(world), world.status().lastHandledReconcileAt]).toEqual([1, undefined]);
    allow();
    await world.reconcileFor(MINUTES_MS);
    expect(world.conditions()).toEqual(SERVING);
    expect([await creates(world), world.status().lastHandledReconcileAt]).toEqual([2, "now"]);
  });

  it("blocks the deletion of the object until the former key returns", async () => {
    const world = await createdWithFormerKey("Effect");
    world.remove();
    await world.reconcileFor(MINUTES_MS);
    expect(world.finalizers()).toHaveLength(1);
    expect(world.conditions()).toContain("Stalled=True/RemoteMissing");
    const message = getCondition(world.status().conditions, "Stalled")?.message;
    expect(message).toMatch(
      /Put the former key into the Secret of the account\. To delete only the object .*=Retain --overwrite$/,
    );
    expect([await scales(world), world.openCreate()?.attempt]).toEqual([["1/2"], 1]);

    world.rotateKey(KEY);
    await world.reconcileFor(MINUTES_MS);
    expect([await scales(world), world.finalizers()]).toEqual([["0/0"], []]);
  });

  it("blocks the deletion until a user lets the object go", async () => {
    const world = await createdWithFormerKey("NoEffect");
    world.remove();
    await world.reconcileFor(MINUTES_MS);
    world.annotate({ [ANNOTATIONS.deletionPolicy]: "Retain" });
    await world.reconcile();
    expect(world.finalizers()).toEqual([]);
  });
});

it("a create whose response was lost is repeated after a minute when the key did not change", async () => {
  const world = await createdWithFormerKey("NoEffect");
  world.rotateKey(KEY);
  await world.reconcileFor(MINUTES_MS);
  expect(world.conditions()).toEqual(SERVING);
  expect(await creates(world)).toBe(2);
});

it("a deletion needs no user when a create had no effect and the key did not change", async () => {
  const world = await createdWithFormerKey("NoEffect");
  world.rotateKey(KEY);
  world.remove();
  await world.reconcileFor(MINUTES_MS);
  expect([world.finalizers(), await creates(world)]).toEqual([[], 1]);
});

it("a new key changes nothing for an endpoint without a create under way", async () => {
  const world = await reconciledEndpoint({}, { simulator: { keySees: "Account" } });
  await world.reconcileFor(MINUTES_MS);
  world.rotateKey(OTHER_KEY);
  for (let round = 0; round < 3; round++) {
    await world.list();
    await world.reconcileFor(MINUTES_MS);
  }
  expect(world.conditions()).toEqual(SERVING);
  expect(await creates(world)).toBe(1);
});
