import { describe, expect, it } from "vitest";
import { getCondition } from "../../../../src/api/v1alpha1/conditions.ts";
import { speechJobResource } from "../../../../src/api/v1alpha1/kinds.ts";
import type { SpeechJob } from "../../../../src/api/v1alpha1/speech-job.ts";
import type { VideoJob } from "../../../../src/api/v1alpha1/video-job.ts";
import { ArtifactError } from "../../../../src/artifacts/errors.ts";
import type { ArtifactWriter } from "../../../../src/artifacts/types.ts";
import { createKind } from "../../../../src/controllers/controller-deps.ts";
import { stateOf } from "../../../../src/controllers/jobs/observations.ts";
import { observeSending } from "../../../../src/controllers/jobs/observe.ts";
import { speechRequest } from "../../../../src/controllers/jobs/requests/speech.ts";
import { videoRequest } from "../../../../src/controllers/jobs/requests/video.ts";
import { jobStatusOf } from "../../../../src/controllers/jobs/status.ts";
import { submit } from "../../../../src/controllers/jobs/submit.ts";
import { decide } from "../../../../src/controllers/jobs/transitions.ts";
import type { RequestOutcome } from "../../../../src/controllers/jobs/types.ts";
import { createValueReader } from "../../../../src/controllers/references.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import { speechJobOf, videoJobOf } from "../../../support/jobs.ts";
import { accountAt, type ServiceAnswer, scriptedService } from "../../../support/service-account.ts";
import { sharedOf } from "../../../support/shared.ts";
import { jobApi, writerOf } from "./world.ts";

const forever = new AbortController().signal;
const output = { output: { storeRef: { name: "results" } } };
const resubmit = { onSubmissionUnknown: "Resubmit" };

const JOBS = {
  synthesizeSpeech: () => speechJobOf("turbo", resubmit),
  streamSpeech: () => speechJobOf("turbo", { stream: true, ...output, ...resubmit }),
  submitSpeech: () => speechJobOf("hd", resubmit),
  submitImageToVideo: () => videoJobOf("image", resubmit),
  submitVideoToVideo: () => videoJobOf("reference", resubmit),
};

/** A writer that fails at the step that is named. */
const writerFailingAt = (step: "write" | "commit"): ArtifactWriter => {
  const fail = async () => {
    throw new ArtifactError("StoreUnreachable", "the store does not answer");
  };
  const commit = async () => ({ uri: "file:///a", bytes: 1, sha256: "0" });
  return {
    write: step === "write" ? fail : async () => {},
    commit: step === "commit" ? fail : commit,
    discard: async () => {},
  };
};

/** Sends the job's request with Resubmit, and tells what the job's status shows of it then. */
async function sendOnce(job: SpeechJob | VideoJob, answer: ServiceAnswer, writer = writerFailingAt("commit")) {
  const stored = job as SpeechJob;
  const api = await jobApi(stored);
  const service = await scriptedService(() => answer);
  const account = accountAt(service.url);
  const reader = createValueReader(api.client, forever);
  const request =
    "model" in job.spec ? await speechRequest(stored, account, reader) : await videoRequest(job as VideoJob, reader);
  const kind = createKind(api.client, { resource: speechJobResource, store: createStore<SpeechJob>() });
  kind.store.upsert(stored);
  const sent = await submit(sharedOf(api.client, speechJobResource), {
    kind,
    job: stored,
    account,
    attempt: 1,
    request,
    write: writerOf(kind),
    openArtifact: async () => writer,
    progress: { sent() {}, firstAudio() {} },
    signal: forever,
  });
  return { sent, requests: service.requests.length, status: () => statusAfter(api.stored(), sent) };
}

/** The status after the outcome. */
function statusAfter(job: SpeechJob, answer: RequestOutcome) {
  const now = Date.parse("2026-03-01T00:01:00Z");
  const running = { find: () => ({ since: now, sent: true, answer }), backoffUntil: () => undefined };
  const observation = observeSending(
    { deps: { running, shared: { hasSenderEnded: () => true } }, job, now },
    { kind: "Sending", record: undefined },
  );
  const { outcome, ...change } = decide(stateOf(job.status, undefined, true), observation, { job, now });
  if (outcome === undefined) throw new Error("the status shows the outcome");
  return jobStatusOf(job, change, outcome, now);
}

const HALTED = { phase: "Halted", submission: { state: "Accepted", attempt: 1 }, attempts: 1 };

describe("given onSubmissionUnknown: Resubmit, when the service accepts a request with a 2xx that cannot be used", () => {
  const bodies: [string, ServiceAnswer][] = [
    ["an empty body", { body: "" }],
    ["a truncated body", { body: '{"task_id":"t' }],
    ["a page", { body: "<html>hello</html>", headers: { "content-type": "text/html" } }],
    ["another spelling", { body: { taskId: "t", Audio: "00", data: {} } }],
    ["an error in the body", { body: { code: 500, message: "failed", reason: "FAILED" } }],
    ["an accepted status without a body", { status: 202, body: "" }],
  ];
  for (const [operation, jobOf] of Object.entries(JOBS)) {
    it.each(bodies)(`${operation} met by %s is never sent again`, async (_name, answer) => {
      const job = jobOf();
      const { sent, requests, status: statusOf } = await sendOnce(job, answer);
      expect([sent.kind, requests]).toEqual(["Unusable", 1]);
      const status = statusOf();
      expect(status).toMatchObject(HALTED);
      const stalled = getCondition(status.conditions, "Stalled");
      expect(stalled?.reason).toBe("ResponseUnusable");
      expect(stalled?.message).toContain("accepted");
      expect(stalled?.message).toContain("charged");
      expect(stalled?.message).toContain("mooring.dev/resubmit-token");
    });
  }

  const audio = 'data: {"audio":"0001","status":1}\n\ndata: {"status":2}\n';
  it.each([
    ["streamSpeech", JOBS.streamSpeech(), audio, "write"],
    ["streamSpeech", JOBS.streamSpeech(), audio, "commit"],
    ["streamSpeech", JOBS.streamSpeech(), audio.slice(0, 40), "write"],
    [
      "synthesizeSpeech",
      speechJobOf("turbo", { outputFormat: "hex", ...output, ...resubmit }),
      { audio: "0001" },
      "write",
    ],
    [
      "synthesizeSpeech",
      speechJobOf("turbo", { outputFormat: "hex", ...output, ...resubmit }),
      { audio: "0001" },
      "commit",
    ],
  ] as const)("%s whose audio cannot be stored is never sent again (%#)", async (_operation, job, body, step) => {
    const { sent, requests, status: statusOf } = await sendOnce(job, { body }, writerFailingAt(step));
    expect([sent.kind, requests]).toEqual(["Unusable", 1]);
    const status = statusOf();
    expect(status).toMatchObject(HALTED);
    expect(getCondition(status.conditions, "Stalled")?.message).toContain("the store does not answer");
  });
});

describe("given a response with a part of the audio, the part is stored and the job says what is missing", () => {
  const chunk = 'data: {"audio":"0001","status":1}\n\n';
  const hex = () => speechJobOf("turbo", { outputFormat: "hex", ...output, ...resubmit });
  const bodies: [string, SpeechJob, unknown, string, RegExp][] = [
    ["a stream without its end", JOBS.streamSpeech(), chunk, "0001", /ended before the synthesis was finished/],
    [
      "a stream that ends with [DONE]",
      JOBS.streamSpeech(),
      `${chunk}data: [DONE]\n`,
      "0001",
      /ended before the synthesis/,
    ],
    ["a stream that ends in a line", JOBS.streamSpeech(), `${chunk}data: {"audio":"ff`, "0001ff", /not a chunk/],
    ["a stream with another line", JOBS.streamSpeech(), `${chunk}oops\n${chunk}data: {"status":2}`, "00010001", /oops/],
    ["half a byte", JOBS.streamSpeech(), 'data: {"audio":"000","status":1}\ndata: {"status":2}', "00", /not hex/],
    ["half a JSON body", JOBS.streamSpeech(), '{"audio":"0001', "0001", /JSON/],
    ["a truncated answer in hex", hex(), '{"audio":"0001', "0001", /JSON/],
    ["an answer in hex with half a byte", hex(), '{"audio":"000"}', "00", /half a byte/],
  ];
  it.each(bodies)("%s", async (_name, job, body, audio, missing) => {
    const written: Buffer[] = [];
    const bytes = () => Buffer.concat(written).toString("hex");
    const writer: ArtifactWriter = {
      write: async (piece) => void written.push(Buffer.from(piece)),
      commit: async () => ({ uri: "file:///a/0.mp3", bytes: bytes().length / 2, sha256: bytes() }),
      discard: async () => written.splice(0).forEach(() => {}),
    };
    const { sent, requests, status: statusOf } = await sendOnce(job, { body }, writer);
    expect([sent.kind, requests]).toEqual(["Unusable", 1]);
    const part = { kind: "Audio", type: "mp3", artifact: { uri: "file:///a/0.mp3", sha256: audio } };
    const status = statusOf();
    expect(status).toMatchObject({ ...HALTED, results: [part] });
    expect(getCondition(status.conditions, "Complete")).toBeUndefined();
    const stalled = getCondition(status.conditions, "Stalled");
    expect(stalled?.reason).toBe("ResponseUnusable");
    expect(stalled?.message).toMatch(missing);
    expect(stalled?.message).toContain("the result is incomplete");
    expect(stalled?.message).toContain(`The ${audio.length / 2} bytes that came are stored at file:///a/0.mp3`);
  });

  it.each([
    ["only with the end", 'data: {"audio":"0001","status":2}\n', "0001"],
    ["with other bytes at the end", `${chunk}data: {"audio":"ff","status":2}\n`, "0001ff"],
    ["in a single JSON body", '{"audio":"0001"}', "0001"],
    [
      "split within a byte",
      'data: {"audio":"000","status":1}\ndata: {"audio":"1","status":1}\ndata: {"status":2}',
      "0001",
    ],
  ])("a stream with audio %s is complete", async (_name, body, audio) => {
    const written: Uint8Array[] = [];
    const writer: ArtifactWriter = {
      write: async (piece) => void written.push(Buffer.from(piece)),
      commit: async () => ({ uri: "file:///a", bytes: 0, sha256: Buffer.concat(written).toString("hex") }),
      discard: async () => {},
    };
    const { sent } = await sendOnce(JOBS.streamSpeech(), { body }, writer);
    expect(sent).toMatchObject({ kind: "Accepted", accepted: { results: [{ artifact: { sha256: audio } }] } });
  });

  it("a stream that gives a URL has its result there", async () => {
    const { sent } = await sendOnce(JOBS.streamSpeech(), { body: { audio: "https://files.example.com/a" } });
    expect(sent).toMatchObject({
      kind: "Accepted",
      accepted: { results: [{ url: "https://files.example.com/a", expiresAt: expect.any(String) }] },
    });
  });
});
