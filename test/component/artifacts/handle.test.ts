import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { createHandle, createSharedPools, DEFAULT_LIMITS } from "../../../src/artifacts/handle.ts";
import type { ArtifactStoreHandle, Backend, Sink } from "../../../src/artifacts/types.ts";
import { anyAddress } from "../../../src/base/address-guard.ts";
import { createSemaphore } from "../../../src/base/semaphore.ts";
import { type FileServer, startFileServer } from "../../../tools/artifacts/file-server.ts";
import { createFakeClock, until } from "../../support/fake-clock.ts";

const { signal } = new AbortController();
let server: FileServer;
beforeAll(async () => {
  server = await startFileServer();
});
afterAll(() => server.close());
beforeEach(() => {
  server.files.clear();
  server.seen.length = 0;
});

/** A store in memory that notes how each sink ended. */
function memoryBackend(ends: string[], bufferBytes = 0, onWrite: (bytes: number) => void = () => {}): Backend {
  const open = async (key: string): Promise<Sink> => {
    let bytes = 0;
    return {
      stored: () => bytes,
      write: async (chunk) => {
        bytes += chunk.length;
        onWrite(chunk.length);
      },
      commit: async () => {
        ends.push(`${key} stored`);
        return { uri: `memory:${key}`, bytes, sha256: "" };
      },
      end: async (keep) => void ends.push(`${key} ${keep ? "kept" : "removed"}`),
    };
  };
  return {
    checkKey: () => {},
    bufferBytes,
    open,
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
}

function stores(ends: string[] = [], bufferBytes = 0) {
  const clock = createFakeClock();
  const pools = createSharedPools();
  let bytes = 0;
  const onWrite = (more: number) => {
    bytes += more;
  };
  const store = (group: string) =>
    createHandle(memoryBackend(ends, bufferBytes, onWrite), { clock, group, limits: () => DEFAULT_LIMITS, ...pools });
  return { clock, store, written: () => bytes };
}

const copy = (store: ArtifactStoreHandle, name: string) => {
  const copied = store.copy(`${server.url}/${name}`, name, { lookup: anyAddress, signal });
  copied.catch(() => undefined);
  return copied;
};

it("slow sources of one namespace leave a slot to the others", async () => {
  server.files.set("/slow", { bytes: 1_000_000, hangAfter: 1_000 });
  server.files.set("/other", { bytes: 1_000 });
  const { store } = stores();
  for (let i = 0; i < 10; i++) void copy(store("a"), "slow");
  await until(() => server.seen.length === 4);
  expect(await copy(store("b"), "other")).toMatchObject({ bytes: 1_000 });
  expect(server.seen).toHaveLength(5);
});

it("a source below the minimum rate gives its slot to a copy that waits, and keeps what it has", async () => {
  server.files.set("/slow", { bytes: 1_000_000, etag: '"1"', hangAfter: 100_000 });
  const ends: string[] = [];
  const { clock, store, written } = stores(ends);
  const reasons: unknown[] = [];
  for (const group of ["a", "a", "a", "a", "b"]) {
    copy(store(group), "slow").catch((error: unknown) => reasons.push(error));
  }
  await until(() => written() === 500_000);
  await clock.advance(60_000);
  expect(ends).toEqual([]); // nobody waits
  server.files.set("/other", { bytes: 1_000 });
  const other = copy(store("c"), "other");
  await clock.advance(60_000);
  expect(await other).toMatchObject({ bytes: 1_000 });
  // One slot is enough.
  expect(reasons).toHaveLength(1);
  expect(reasons[0]).toMatchObject({ kind: "TooSlow", retryable: true });
  expect(String(reasons[0])).toContain("less than 64 KiB a second while other copies waited: the copy continues later");
  expect(ends).toEqual(["slow kept", "other stored"]);
});

it("a source below the minimum rate is ended when something waits for its end", async () => {
  server.files.set("/slow", { bytes: 1_000_000, etag: '"1"', hangAfter: 100_000 });
  const { clock, store, written } = stores();
  let urgent = false;
  const options = { lookup: anyAddress, signal, urgent: () => urgent };
  const reasons: unknown[] = [];
  store("a")
    .copy(`${server.url}/slow`, "slow", options)
    .catch((error: unknown) => reasons.push(error));
  await until(() => written() === 100_000);
  await clock.advance(3_600_000);
  expect(reasons).toEqual([]);
  urgent = true;
  await clock.advance(30_000);
  await until(() => reasons.length === 1);
  expect(reasons[0]).toMatchObject({ kind: "TooSlow" });
});

it("a fast source is not ended for others", async () => {
  server.files.set("/fast", { bytes: 30_000_000, etag: '"1"', hangAfter: 25_000_000 });
  const { clock, store, written } = stores();
  const ended: string[] = [];
  copy(store("a"), "fast").catch((error: unknown) => ended.push(String(error)));
  await until(() => written() > 20_000_000);
  for (const group of ["a", "a", "a", "b", "b", "b", "b", "b"]) void copy(store(group), "fast");
  await clock.advance(30_000);
  expect(ended).toEqual([]);
});

it("writers wait for memory before they are opened, and give it back", async () => {
  const MIB = 1024 * 1024;
  const { store } = stores([], 16 * MIB);
  const opened: string[] = [];
  const writers = Array.from({ length: 5 }, (_, index) =>
    store("a")
      .writer(`k${index}`, { signal, maxBytes: 1024 * MIB })
      .then((writer) => {
        opened.push(`k${index}`);
        return writer;
      }),
  );
  await until(() => opened.length === 4);
  // A small one, and another namespace, still fit.
  await (await store("b").writer("other", { signal, maxBytes: 1024 })).discard();
  expect(opened).toHaveLength(4);
  await (await writers[0])?.commit();
  await until(() => opened.length === 5);
  for (const writer of writers.slice(1)) await (await writer).discard();
});

it("refuses a writer for more than a job may store, before anything is opened", async () => {
  const ends: string[] = [];
  const store = createHandle(memoryBackend(ends), {
    clock: createFakeClock(),
    group: "a",
    limits: () => ({ ...DEFAULT_LIMITS, maxBytes: 100 }),
    slots: createSemaphore({ capacity: 1 }),
    memory: createSemaphore({ capacity: 1 }),
  });
  await expect(store.writer("k", { signal, maxBytes: 101 })).rejects.toMatchObject({ kind: "TooLarge" });
  const writer = await store.writer("k", { signal, maxBytes: 100 });
  await expect(writer.write(Buffer.alloc(101))).rejects.toMatchObject({ kind: "TooLarge" });
  await writer.discard();
  expect(ends).toEqual(["k removed"]);
});

it("what a job has stored already counts towards its limit", async () => {
  server.files.set("/second", { bytes: 60 });
  const store = createHandle(memoryBackend([]), {
    clock: createFakeClock(),
    group: "a",
    limits: () => ({ ...DEFAULT_LIMITS, maxBytes: 100 }),
    ...createSharedPools(),
  });
  const options = { lookup: anyAddress, signal };
  await expect(store.copy(`${server.url}/second`, "k", { ...options, usedBytes: 41 })).rejects.toMatchObject({
    kind: "TooLarge",
  });
  expect(await store.copy(`${server.url}/second`, "k", { ...options, usedBytes: 40 })).toMatchObject({ bytes: 60 });
});
