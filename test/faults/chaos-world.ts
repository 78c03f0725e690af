import { inject, type TestContext } from "vitest";
import type { ChaosSettings } from "../../tools/chaos/chaos-faults.ts";
import { type ChaosProxy, startChaosProxy } from "../../tools/chaos/chaos-proxy.ts";
import { targetOf } from "../../tools/cluster/credentials.ts";

/** The size of the chaos tests; by hand: `MOORING_CHAOS_SECONDS=300 MOORING_CHAOS_OBJECTS=500 npx vitest run test/faults/chaos`. */
export const SECONDS = Number(process.env.MOORING_CHAOS_SECONDS ?? 20);
export const OBJECTS = Number(process.env.MOORING_CHAOS_OBJECTS ?? 100);
export const SEED = Number(process.env.MOORING_CHAOS_SEED ?? 1);

/** Everything happens sooner where there are seconds only. */
const SHORT: Partial<ChaosSettings> = { silenceMs: 1_500, slowMs: 500, streamFaultEveryMs: 400, pageSize: 7 };

/** A chaos proxy in front of the tests' API server; ends with the test. */
export async function chaosProxy(test: TestContext, change: Partial<ChaosSettings> = {}): Promise<ChaosProxy> {
  const target = await targetOf(inject("kubeconfig"));
  const settings = { ...(SECONDS < 120 ? SHORT : {}), ...change };
  const proxy = await startChaosProxy(target, { seed: SEED, settings });
  test.onTestFinished(() => proxy.close());
  return proxy;
}
