import { describe, expect, it } from "vitest";
import { getCondition } from "../../../../src/api/v1alpha1/conditions.ts";
import { speechJobResource } from "../../../../src/api/v1alpha1/kinds.ts";
import type { SpeechJob } from "../../../../src/api/v1alpha1/speech-job.ts";
import type { VideoJob } from "../../../../src/api/v1alpha1/video-job.ts";
import { ArtifactError } from "../../../../src/artifacts/errors.ts";
import type { ArtifactWriter } from "../../../../src/artifacts/types.ts";
import { systemClock } from "../../../../src/clock.ts";
import { createKind } from "../../../../src/controllers/controller-deps.ts";
import { stateOf } from "../../../../src/controllers/jobs/observations.ts";
import { observeSending } from "../../../../src/controllers/jobs/observe.ts";
import { speechRequest } from "../../../../src/controllers/jobs/requests/speech.ts";
import { videoRequest } from "../../../../src/controllers/jobs/requests/video.ts";
import { jobStatusOf } from "../../../../src/controllers/jobs/status.ts";
import { submit } from "../../../../src/controllers/jobs/submit.ts";
import { decide } from "../../../../src/controllers/jobs/transitions.ts";
import type { Answer } from "../../../../src/controllers/jobs/types.ts";
import { createValueReader } from "../../../../src/controllers/references.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import type { JournalEntry } from "../../../../src/submission/journal.ts";
import { createJournal } from "../../../../src/submission/sharded-journal.ts";
import { speechJobOf, videoJobOf } from "../../../support/jobs.ts";
import { createObjectStore } from "../../../support/object-store.ts";
import { scriptedApi, silentLog } from "../../../support/scripted-api-server.ts";
import { accountAt, type ServiceAnswer, scriptedService } from "../../../support/service-account.ts";
import { sharedOf } from "../../../support/shared.ts";

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

/** Sends the job's request with Resubmit, records the outcome, and reads the journal as the next process does. */
async function sendOnce(job: SpeechJob | VideoJob, answer: ServiceAnswer, writer = writerFailingAt("commit")) {
  const store = createObjectStore();
  const api = await scriptedApi(store.script);
  const service = await scriptedService(() => answer);
  const account = accountAt(service.url);
  const reader = createValueReader(api.client, forever);
  const request =
    "model" in job.spec ? await speechRequest(job as SpeechJob, account, reader) : await videoRequest(job as VideoJob);
  const parts = {
    client: api.client,
    clock: systemClock,
    log: silentLog,
    namespace: "mooring",
    name: "mooring-journal",
  };
  const journalOf = (identity: string) => createJournal({ ...parts, identity, random: () => 0.5 });
  const journal = journalOf("one");
  await journal.open(forever);
  const kind = createKind(api.client, { resource: speechJobResource, store: createStore<SpeechJob>() });
  kind.store.upsert(job as SpeechJob);
  const bound = { kind: "Account", name: "default", baseURL: service.url } as const;
  const sent = await submit(sharedOf(api.client, speechJobResource, { journal }), {
    kind,
    job: job as SpeechJob,
    account,
    intent: { id: "i", attempt: 1, specHash: "0", journal: journal.id(job.metadata.uid), account: bound },
    request,
    openArtifact: async () => writer,
    onSent: () => {},
    onFirstAudio: () => {},
    signal: forever,
  });
  await journal.close(forever);
  const left = await journalOf("two").open(forever);
  return { sent, requests: service.requests.length, left };
}

/** The status after the outcome: of this process, or of the next one, which has the journal's entry alone. */
function statusAfter(stored: SpeechJob | VideoJob, entry: JournalEntry, answer?: Answer) {
  const { id, specHash, attempt, time } = entry;
  const submission = { id, specHash, attempt, state: "Intended" as const, time };
  const job = { ...stored, status: { conditions: [], phase: "Pending" as const, submission } };
  const now = Date.parse("2026-03-01T00:01:00Z");
  const running = { find: () => answer && { since: now, sent: true, answer }, backoffUntil: () => undefined };
  const deps = { running, shared: { journal: { placesOf: () => [] } } };
  const observation = observeSending({ deps, job, now }, { kind: "Sending", entry });
  const { outcome, ...change } = decide(stateOf(job.status, entry, true), observation, { job, now });
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
      const { sent, requests, left } = await sendOnce(job, answer);
      expect([sent.kind, requests]).toEqual(["Unusable", 1]);
      const status = statusAfter(job, sent.entry, sent);
      expect(status).toMatchObject(HALTED);
      const stalled = getCondition(status.conditions, "Stalled");
      expect(stalled?.reason).toBe("ResponseUnusable");
      expect(stalled?.message).toContain("accepted");
      expect(stalled?.message).toContain("charged");
      expect(stalled?.message).toContain("mooring.dev/resubmit-token");
      // The operator ends before it writes the status.
      const [entry] = left;
      if (entry === undefined) throw new Error("the journal lost the request");
      expect(statusAfter(job, entry)).toMatchObject(HALTED);
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
    const { sent, requests } = await sendOnce(job, { body }, writerFailingAt(step));
    expect([sent.kind, requests]).toEqual(["Unusable", 1]);
    const status = statusAfter(job, sent.entry, sent);
    expect(status).toMatchObject(HALTED);
    expect(getCondition(status.conditions, "Stalled")?.message).toContain("the store does not answer");
  });
});
