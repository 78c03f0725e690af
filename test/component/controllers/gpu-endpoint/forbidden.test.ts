import { describe, expect, it } from "vitest";
import { reconciledEndpoint } from "./world.ts";

const MINUTE_MS = 60_000;
const forbidden = (operation: string) => ({
  operation,
  kind: "status" as const,
  status: 403,
  body: { code: 403, reason: "ACCESS_DENIED", message: "not allowed", metadata: {} },
  times: 1_000,
});

describe("a 403 for an operation of endpoints", () => {
  it.each<{ operation: string; prepare: "Nothing" | "Edit" | "Request" }>([
    { operation: "createEndpoint", prepare: "Nothing" },
    { operation: "updateEndpoint", prepare: "Edit" },
    { operation: "getEndpoint", prepare: "Request" },
  ])("$operation: the object is Stalled, and asks again every few minutes at most", async ({ operation, prepare }) => {
    const world = await reconciledEndpoint();
    if (prepare !== "Nothing") await world.reconcileFor(10 * MINUTE_MS);
    await world.bench.fault(forbidden(operation));
    if (prepare === "Edit") world.edit({ image: "registry.example.com/echo:2" });
    if (prepare === "Request") world.annotate({ "mooring.dev/reconcile-requested-at": "1" });
    const calls = async () => (await world.bench.audit(`?operation=${operation}`)).length;
    const before = await calls();

    const dueMs = await world.reconcile();
    expect(world.conditions()).toEqual(
      expect.arrayContaining(["Ready=False/OperationForbidden", "Stalled=True/OperationForbidden"]),
    );
    expect(dueMs).toBeGreaterThanOrEqual(5 * MINUTE_MS);
    expect((await calls()) - before).toBe(1);
    if (prepare !== "Request") {
      for (let round = 0; round < 5; round++) await world.reconcile(); // whatever else wakes the object
      expect((await calls()) - before).toBe(1);
    }
    await world.reconcileFor(60 * MINUTE_MS);
    expect((await calls()) - before).toBeLessThanOrEqual(8);
  });
});
