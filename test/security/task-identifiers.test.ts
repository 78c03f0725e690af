/** A paid request is accepted, and what the service returns for it cannot be stored: the job halts, and nothing is lost or resent. */
import { describe, expect, it } from "vitest";
import { videoJobResource } from "../../src/api/v1alpha1/kinds.ts";
import type { VideoJob } from "../../src/api/v1alpha1/video-job.ts";
import { halt } from "../../src/controllers/jobs/halt.ts";
import { submitOnce } from "../../src/submission/submit-once.ts";
import { KEY, makeClient, type TestClient } from "../component/provider/http/make-client.ts";
import { breachesOf, statusSchemaOf } from "../support/crd-schema.ts";
import { createFakeClock, START } from "../support/fake-clock.ts";
import { jobAfter } from "../support/golden/jobs.ts";
import { recordOf, videoJobOf } from "../support/jobs.ts";
import { scriptedService } from "../support/service-account.ts";

const video = { prompt: "a", image_url: "https://a.example/i.png" };
const speech = { text: "a", voice_setting: { voice_id: "v" } };

const ANSWERS: [what: string, answer: unknown, call: (client: TestClient) => Promise<unknown>, why: string][] = [
  [
    "a task ID of 5,000 characters",
    { task_id: "t".repeat(5_000) },
    (c) => c.submitImageToVideo(video),
    "has 5000 characters",
  ],
  [
    "a task ID with control characters",
    { task_id: "t\u0007\u202e" },
    (c) => c.submitImageToVideo(video),
    "control or formatting",
  ],
  [
    "a task ID that quotes the API key",
    { task_id: `t-${KEY}` },
    (c) => c.submitImageToVideo(video),
    "quotes the API key",
  ],
  [
    "a URL of 64 KiB",
    { audio: `https://a.example/${"x".repeat(65_536)}` },
    (c) => c.synthesizeSpeech(speech),
    "audio in the response",
  ],
  [
    "a URL that quotes the API key",
    { audio: `https://a.example/?k=${KEY}` },
    (c) => c.synthesizeSpeech(speech),
    "quotes the API key",
  ],
];

describe.each(ANSWERS)("%s", (_what, body, call, why) => {
  it("halts the job with the reason, and is sent once", async () => {
    const service = await scriptedService(() => ({ body }));
    const client = makeClient(service.url);
    const { id, time: _, sender, keyVersion = "", ...request } = recordOf();
    const result = await submitOnce<VideoJob, unknown>(
      {
        clock: createFakeClock(),
        random: () => 0.5,
        reader: { read: async () => ({ kind: "NotFound" }) },
        newID: () => id,
        identity: sender,
      },
      {
        ...request,
        keyVersion: () => keyVersion,
        object: {
          resource: videoJobResource,
          latest: () => videoJobOf("image"),
          write: async (job) => job,
          shown: () => ({ id, sender }),
          mayWrite: () => true,
        },
        confirmServing: async () => {},
        assertWanted: () => undefined,
        send: async (options) => {
          await options.commit();
          options.beforeSend();
          return call(client);
        },
        signal: new AbortController().signal,
      },
    );
    await client.close();
    expect(result.kind).toBe("Unusable");
    expect(service.requests).toHaveLength(1);
    if (result.kind !== "Unusable" || !(result.error instanceof Error)) throw new Error("not unusable");

    const job = videoJobOf("image");
    const context = { job, now: START };
    const cause = result.error.message;
    expect(cause.length).toBeLessThan(1_000);
    const { outcome } = halt({ kind: "Unusable", record: result.record, cause, results: [] }, context);
    if (outcome === undefined) throw new Error("no outcome");
    const { status } = jobAfter(undefined, outcome);
    const ready = status.conditions.find(({ type }) => type === "Ready");
    expect(ready).toMatchObject({
      status: "False",
      reason: "ResponseUnusable",
      message: expect.stringContaining(why),
    });
    expect(JSON.stringify(status)).not.toContain(KEY);
    expect(breachesOf(statusSchemaOf("videojobs"), JSON.parse(JSON.stringify(status)))).toEqual([]);
  });
});
