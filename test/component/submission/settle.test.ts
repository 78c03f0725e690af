import { describe, expect, it } from "vitest";
import { videoJobResource } from "../../../src/api/v1alpha1/kinds.ts";
import type { VideoJob } from "../../../src/api/v1alpha1/video-job.ts";
import { createObjectReader } from "../../../src/runtime/object-reader.ts";
import { entriesWithoutObject, GONE_MESSAGE, settleDeleted, settleGone } from "../../../src/submission/intents.ts";
import type { JournalEntry } from "../../../src/submission/journal.ts";
import { entryOf, videoJobOf } from "../../support/jobs.ts";
import { type Answer, capturedLog, failure, scriptedApi } from "../../support/scripted-api-server.ts";

const signal = new AbortController().signal;
const job = videoJobOf("image");
const object = { resource: videoJobResource, key: "team/sea" };
const own = entryOf({ id: "own" });
const former = entryOf({ id: "former", uid: "former" });
const otherKey = entryOf({ id: "other-key", uid: "other", key: "team/other" });
const otherKind = entryOf({ id: "other-kind", uid: "other", kind: "SpeechJob" });

/** @param answer of the API server to a read of the object */
async function setUp(entries: JournalEntry[], answer: Answer = failure(404, "NotFound")) {
  const api = await scriptedApi(() => answer);
  const { log, lines } = capturedLog();
  const settled: string[] = [];
  const journal = {
    entriesOf: ({ kind, key }: Pick<JournalEntry, "kind" | "key">) =>
      entries.filter((entry) => entry.kind === kind && entry.key === key),
    settle: (id: string) => void settled.push(id),
  };
  return {
    deps: { journal, log, reader: createObjectReader({ kube: api.client, log }) },
    settled,
    logged: () => lines.filter(({ msg }) => msg === GONE_MESSAGE).length,
    reads: () => api.requests.map(({ method, path }) => `${method} ${path}`),
    errors: () => lines.flatMap(({ level, msg }) => (level === 50 ? [msg] : [])),
  };
}

const exists = (existing: VideoJob): Answer => ({ body: existing });

describe("journal entries whose object is deleted", () => {
  it.each<{ name: string; present: string | undefined; answer?: Answer; expected: string[] }>([
    { name: "no object has the key", present: undefined, expected: ["own", "former"] },
    { name: "another object has the key", present: job.metadata.uid, answer: exists(job), expected: ["former"] },
  ])("are logged and settled when $name", async ({ present, answer, expected }) => {
    const { deps, settled, logged, reads } = await setUp([own, former, otherKey, otherKind], answer);
    expect(await settleGone(deps, object, present, signal)).toBeUndefined();
    expect([settled, logged()]).toEqual([expected, expected.length]);
    expect(reads()).toEqual(["GET /apis/mooring.dev/v1alpha1/namespaces/team/videojobs/sea"]);
  });

  it("are those that a takeover reconciles", () => {
    expect(entriesWithoutObject([own, former], [job])).toEqual([former]);
  });

  it("are settled without a read when the object is being deleted and follows no request", async () => {
    const { deps, settled, reads } = await setUp([own, former]);
    settleDeleted(deps, object, job.metadata.uid);
    expect([settled, reads()]).toEqual([["own"], []]);
  });
});

describe("journal entries whose object the store does not show", () => {
  it.each<{ name: string; present: string | undefined }>([
    { name: "nothing has the key", present: undefined },
    { name: "a former object has the key", present: "another" },
  ])("stay while the API server has the object, although in the store $name", async ({ present }) => {
    const { deps, settled } = await setUp([own], exists(job));
    expect(await settleGone(deps, object, present, signal)).toEqual({ requeueAfterMs: 2_000 });
    expect(settled).toEqual([]);
  });

  it("stay when the read fails, and the reconcile is repeated", async () => {
    const { deps, settled } = await setUp([own], failure(503, "ServiceUnavailable"));
    await expect(settleGone(deps, object, undefined, signal)).rejects.toThrow("ServiceUnavailable");
    expect(settled).toEqual([]);
  });

  it("stay when the operator lacks the right get, and one line of the log says so", async () => {
    const { deps, settled, errors } = await setUp([own], failure(403, "Forbidden"));
    expect(await settleGone(deps, object, undefined, signal)).toEqual({ requeueAfterMs: 60_000 });
    expect(await settleGone(deps, object, undefined, signal)).toEqual({ requeueAfterMs: 60_000 });
    expect(settled).toEqual([]);
    expect(errors()).toEqual([
      "the operator has no right to get videojobs.mooring.dev: grant it the verb get, as the chart of this version does",
    ]);
  });

  it("cost no read when there are none", async () => {
    const { deps, reads } = await setUp([own, otherKey]);
    expect(await settleGone(deps, object, job.metadata.uid, signal)).toBeUndefined();
    expect(reads()).toEqual([]);
  });
});
