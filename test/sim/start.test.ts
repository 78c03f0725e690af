import { describe, expect, it } from "vitest";
import { createStartScene } from "./start-scene.ts";

const endpoints = 500;

describe.each(["Account", "ClusterAccount"] as const)(
  "an operator that finds 500 GpuEndpoints of one %s",
  (accountKind) => {
    it("reconciles each of them once the account is known, and not before", async () => {
      const scene = createStartScene({ endpoints, accountKind });
      const first = await scene.startUntil(({ createEndpoint = 0 }) => createEndpoint > 0);
      expect(first.reconciles).toBeLessThan(10);
      expect(first.apiRequests).toBeLessThan(40);
      expect(first.listed).toBe(1);
      // The bills are read beside the objects: before the first create or after it.
      const calls = { listBills: 1, ...first.service };
      expect(calls).toEqual({ getEndpointLimits: 1, listEndpoints: 1, createEndpoint: 1, listBills: 1 });

      const later = await scene.pass(60_000);
      expect(scene.readyEndpoints()).toBe(endpoints);
      expect(later.service["createEndpoint"]).toBe(endpoints);
      expect(later.reconciles).toBeLessThan(2 * endpoints);

      // Bound and Ready, for another process.
      scene.kill();
      await scene.startUntil(({ listEndpoints = 0 }) => listEndpoints > 0);
      const again = await scene.pass(30_000);
      expect(again.reconciles).toBeGreaterThanOrEqual(endpoints);
      expect(again.reconciles).toBeLessThan(1.5 * endpoints);
      expect(again.apiRequests).toBeLessThan(40);
      expect(again.service["getEndpoint"] ?? 0).toBe(0);
      expect(again.listed).toBe(1);
      scene.kill();
    });
  },
);
