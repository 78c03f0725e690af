import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { JobResult } from "../../../../src/api/v1alpha1/job.ts";
import { ArtifactError } from "../../../../src/artifacts/errors.ts";
import { findResults, type RecordStore, recordResults } from "../../../../src/controllers/jobs/request-records.ts";
import { keyOfResult } from "../../../../src/controllers/jobs/result-key.ts";
import { videoJobOf } from "../../../support/jobs.ts";

const { signal } = new AbortController();
const job = videoJobOf("image", { output: { storeRef: { name: "results" } } });
const later = { ...job, metadata: { ...job.metadata, name: "later", uid: "later" } };
const KEY = ".mooring/requests/hash";

function memoryStore(contents: Record<string, string> = {}) {
  const objects = new Map(Object.entries(contents));
  const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
  const store: RecordStore = {
    async read(key) {
      const text = objects.get(key);
      if (text === undefined) throw new ArtifactError("NotFound", `${key} does not exist`);
      const chunks = (async function* () {
        yield Buffer.from(text);
      })();
      return { totalBytes: text.length, start: 0, end: text.length, chunks, close: async () => {} };
    },
    async create(key, text) {
      if (objects.has(key)) return false;
      objects.set(key, text);
      return true;
    },
    holds: async (key, content) =>
      objects.get(key)?.length === content.bytes && sha256(objects.get(key) ?? "") === content.sha256,
    async writer(key) {
      let written = "";
      return {
        async write(chunk) {
          written += Buffer.from(chunk).toString();
        },
        commit: async () => {
          objects.set(key, written);
          return { uri: "", bytes: written.length, sha256: sha256(written) };
        },
        discard: async () => {},
      };
    },
  };
  /** As a job stores its first result. */
  function put(of: typeof job, text: string): JobResult {
    const key = keyOfResult(of, 0, "mp4");
    objects.set(key, text);
    return { kind: "Video", type: "mp4", artifact: { uri: `s3://b/${key}`, bytes: text.length, sha256: sha256(text) } };
  }
  const record = (of: typeof job, result: JobResult) =>
    recordResults(store, of, { hash: "hash", results: [result], now: Date.parse("2026-03-01T00:00:00Z") }, signal);
  return { objects, store, put, record, found: () => findResults(store, "hash", signal) };
}

describe("the record of a request in a store", () => {
  it("leads to the results of the job that wrote it", async () => {
    const { put, record, found } = memoryStore();
    expect(await found()).toBeUndefined();
    const result = put(job, "a film");
    await record(job, result);
    expect(await found()).toEqual({
      from: `VideoJob team/${job.metadata.name}`,
      time: "2026-03-01T00:00:00Z",
      results: [{ kind: "Video", type: "mp4", key: keyOfResult(job, 0, "mp4"), ...result.artifact }],
    });
  });

  it.each([
    ["changed", (objects: Map<string, string>) => objects.set(keyOfResult(job, 0, "mp4"), "a game")],
    ["removed", (objects: Map<string, string>) => objects.delete(keyOfResult(job, 0, "mp4"))],
  ])("does not lead to results that were %s, and is replaced when they are made again", async (_, spoil) => {
    const { objects, put, record, found } = memoryStore();
    await record(job, put(job, "a film"));
    spoil(objects);
    expect(await found()).toBeUndefined();
    await record(later, put(later, "another film"));
    expect(await found()).toMatchObject({ from: "VideoJob team/later" });
  });

  it("stays when the store has its results: two jobs recorded the same request", async () => {
    const { put, record, found } = memoryStore();
    await record(job, put(job, "a film"));
    await record(later, put(later, "another film"));
    expect(await found()).toMatchObject({ from: `VideoJob team/${job.metadata.name}` });
  });

  it.each(["", "no JSON", "{}", '{"from":"x","time":"y","results":[]}'])(
    "that is no record counts as none: %s",
    async (text) => {
      const { put, record, found } = memoryStore({ [KEY]: text });
      expect(await found()).toBeUndefined();
      await record(job, put(job, "a film"));
      expect(await found()).toBeDefined();
    },
  );
});
