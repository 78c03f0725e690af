import { expect, it } from "vitest";
import { createHandle, createSharedPools, DEFAULT_LIMITS } from "../../../src/artifacts/handle.ts";
import type { Backend } from "../../../src/artifacts/types.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const MIB = 1024 * 1024;
const { signal } = new AbortController();

it("a store that opens no writer holds no memory for those that it refused", async () => {
  let opened = 0;
  const backend: Backend = {
    checkKey: () => {},
    bufferBytes: 16 * MIB,
    open: async () => {
      opened++;
      throw new Error("the bucket is away");
    },
    leftover: async () => undefined,
    existing: async () => undefined,
    read: async () => undefined,
    create: async () => true,
    digest: async () => undefined,
    remove: async () => {},
    clear: async () => {},
    probe: async () => {},
    usage: async () => 0,
    dispose: async () => {},
  };
  const clock = createFakeClock();
  const store = createHandle(backend, { clock, group: "team", limits: () => DEFAULT_LIMITS, ...createSharedPools() });
  // A namespace may hold memory for four.
  for (const number of [1, 2, 3, 4, 5, 6]) {
    const writer = store.writer(`key-${number}`, { signal });
    await expect(Promise.race([writer, later()])).rejects.toThrow("the bucket is away");
  }
  expect(opened).toBe(6);
});

/** A writer that waits for memory never settles. */
async function later(): Promise<string> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
  return "it waits";
}
