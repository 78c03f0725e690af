import { describe, expect, it } from "vitest";
import { createReconciler, reconcileRequestOf } from "../../../src/controllers/reconciler.ts";
import type { Condition, KubeObject } from "../../../src/kube/types.ts";
import { createStore } from "../../../src/runtime/store.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { silentLog } from "../../support/scripted-api-server.ts";
import { storedMeta } from "../../support/stored-meta.ts";

const OWN = "mooring.dev/reconcile-requested-at";
const FLUX = "reconcile.fluxcd.io/requestedAt";

type Thing = KubeObject<object, { lastHandledReconcileAt?: string; conditions?: Condition[] }>;
const thing = (
  change: { annotations?: Record<string, string>; deletionTimestamp?: string },
  handled?: string,
): Thing => ({
  metadata: storedMeta({ name: "one", ...change }),
  spec: {},
  ...(handled === undefined ? {} : { status: { lastHandledReconcileAt: handled } }),
});

describe("a reconcile request", () => {
  it.each<{ name: string; annotations: Record<string, string>; handled?: string; request: string | undefined }>([
    { name: "no annotation", annotations: {}, request: undefined },
    { name: "Mooring's own", annotations: { [OWN]: "1" }, request: "1" },
    { name: "the one of flux reconcile", annotations: { [FLUX]: "2" }, request: "2" },
    { name: "handled", annotations: { [FLUX]: "2" }, handled: "2", request: undefined },
    {
      name: "both: the later time",
      annotations: { [OWN]: "2026-03-01T00:00:00Z", [FLUX]: "2026-03-01T00:00:01.5Z" },
      handled: "2026-03-01T00:00:00Z",
      request: "2026-03-01T00:00:01.5Z",
    },
    {
      name: "both, the later one handled",
      annotations: { [OWN]: "2026-03-01T00:00:00Z", [FLUX]: "2026-03-01T00:00:01.5Z" },
      handled: "2026-03-01T00:00:01.5Z",
      request: undefined,
    },
    {
      name: "both, of which one is no time",
      annotations: { [OWN]: "2026-03-01T00:00:00Z", [FLUX]: "now" },
      request: "2026-03-01T00:00:00Z",
    },
  ])("$name", ({ annotations, handled, request }) => {
    expect(reconcileRequestOf(thing({ annotations }, handled))).toBe(request);
  });
});

describe("createReconciler", () => {
  const context = { signal: new AbortController().signal, log: silentLog };

  async function stepsOf(object: Thing | undefined): Promise<string[]> {
    const called: string[] = [];
    const step = (name: string) => async () => {
      called.push(name);
      return undefined;
    };
    const store = createStore<Thing>();
    if (object !== undefined) store.upsert(object);
    const reconcile = createReconciler<Thing>({
      kind: { store },
      clock: createFakeClock(),
      forgetDeleted: step("forgetDeleted"),
      finalize: step("finalize"),
      pause: step("pause"),
      reconcile: async (_object, requested) => {
        called.push(`reconcile ${requested}`);
        return undefined;
      },
    });
    await reconcile({ key: "team/one", namespace: "team", name: "one" }, context);
    return called;
  }

  const paused = { "mooring.dev/paused": "true" };
  it.each<{ name: string; object: Thing | undefined; steps: string[] }>([
    { name: "no object", object: undefined, steps: ["forgetDeleted"] },
    { name: "an object", object: thing({}), steps: ["reconcile undefined"] },
    { name: "an object with a request", object: thing({ annotations: { [FLUX]: "2" } }), steps: ["reconcile 2"] },
    { name: "a paused object", object: thing({ annotations: paused }), steps: ["pause"] },
    {
      name: "a paused object that is being deleted",
      object: thing({ annotations: paused, deletionTimestamp: "2026-03-01T00:00:00Z" }),
      steps: ["finalize"],
    },
    {
      name: "paused: false",
      object: thing({ annotations: { "mooring.dev/paused": "false" } }),
      steps: ["reconcile undefined"],
    },
  ])("$name", async ({ object, steps }) => {
    expect(await stepsOf(object)).toEqual(steps);
  });
});
