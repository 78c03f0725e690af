import { describe, expect, it } from "vitest";
import { ArtifactError } from "../../../../src/artifacts/errors.ts";
import type { ArtifactStoreHandle } from "../../../../src/artifacts/types.ts";
import { anyAddress } from "../../../../src/base/address-guard.ts";
import { copyResults } from "../../../../src/controllers/jobs/copy-results.ts";
import { createRequestClaims } from "../../../../src/controllers/jobs/request-claims.ts";
import { observeReuse, reuseKeyOf } from "../../../../src/controllers/jobs/reuse.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { videoJobOf } from "../../../support/jobs.ts";

const { signal } = new AbortController();
const output = { storeRef: { name: "results" } };
const store = {
  copy: async () => ({ uri: "s3://results/a", bytes: 1, sha256: "00" }),
  create: async () => true,
  reuse: () => undefined,
} as unknown as ArtifactStoreHandle;
const failing = (kind: "StoreUnreachable" | "Denied" | "NoSpace") => async () => {
  throw new ArtifactError(kind, "the store fails");
};

describe("a job that reuses results", () => {
  const job = videoJobOf(
    "image",
    { output, reuse: "SameRequest" },
    { conditions: [], reuseKey: "hash", results: [{ kind: "Video", url: "a", type: "mp4" }] },
  );
  const copied = (change: Partial<ArtifactStoreHandle>) => {
    const route = { store: { ...store, ...change }, lookup: anyAddress, refresh: undefined, clock: createFakeClock() };
    return copyResults(job, route, { bytes: 0, totalBytes: undefined, urgent: false }, signal);
  };

  it("is not complete before the store has the record of its request", async () => {
    const created: string[] = [];
    const create = async (key: string) => created.push(key) > 0;
    expect(await copied({ create })).toMatchObject({ kind: "Stored" });
    expect(created).toEqual([".mooring/requests/hash"]);
    const { kind, results, ...block } = await copied({ create: failing("StoreUnreachable") });
    expect({ kind, ...block }).toMatchObject({ kind: "Failed", reason: "Retrying", stalled: false });
    expect(results).toMatchObject([{ artifact: { uri: "s3://results/a" } }]);
    expect(await copied({ create: failing("NoSpace") })).toMatchObject({ reason: "StoreFull", stalled: true });
  });

  it.each([
    ["does not answer: it waits", failing("StoreUnreachable"), "StoreNotReady"],
    ["denies what it does not have: it sends", failing("Denied"), undefined],
  ])("asks its store first. One that %s", async (_, read, reason) => {
    const deps = { claims: createRequestClaims(() => []) };
    const context = { deps, job, now: 0, signal } as unknown as Parameters<typeof observeReuse>[0];
    const observed = await observeReuse(context, { ...store, read }, "hash");
    expect(observed?.observation).toEqual(
      reason && expect.objectContaining({ kind: "Blocked", reason, stalled: false }),
    );
  });
});

type Setting = "Never" | "SameRequest" | undefined;

it.each<{ job?: Setting; store?: Setting; account?: Setting; reuses: boolean }>([
  { reuses: false },
  { account: "SameRequest", reuses: true },
  { account: "SameRequest", store: "Never", reuses: false },
  { store: "SameRequest", reuses: true },
  { account: "SameRequest", store: "SameRequest", job: "Never", reuses: false },
  { job: "SameRequest", store: "Never", reuses: true },
])("the job decides before the store, and the store before the account: $job, $store, $account", (row) => {
  const job = videoJobOf("image", { output, ...(row.job && { reuse: row.job }) });
  const isOn = (setting: Setting) => setting === "SameRequest";
  const account = { reuse: isOn(row.account), addressOf: () => "https://service.example.com" };
  const target = { reuse: () => (row.store === undefined ? undefined : isOn(row.store)) };
  const request = { operation: "submitImageToVideo", body: { prompt: "sea" } } as const;
  expect(reuseKeyOf(job, request, account, target) !== undefined).toBe(row.reuses);
  expect(reuseKeyOf(job, request, account, undefined)).toBeUndefined();
});

it("requests are the same by operation, address and parameters", () => {
  const job = videoJobOf("image", { output, reuse: "SameRequest" });
  const keyOf = (
    body: object,
    operation: "submitImageToVideo" | "submitVideoToVideo" = "submitImageToVideo",
    at = "a",
  ) => reuseKeyOf(job, { operation, body }, { reuse: false, addressOf: () => at }, store);
  const key = keyOf({ prompt: "sea", seed: 1 });
  expect(key).toMatch(/^[0-9a-f]{64}$/);
  expect(keyOf({ seed: 1, prompt: "sea", steps: undefined })).toBe(key);
  for (const other of [
    keyOf({ prompt: "sea" }),
    keyOf({ prompt: "sea", seed: 1 }, "submitVideoToVideo"),
    keyOf({ prompt: "sea", seed: 1 }, "submitImageToVideo", "b"),
  ]) {
    expect(other).not.toBe(key);
  }
});
