import { describe, expect, it } from "vitest";
import { getCondition } from "../../../../src/api/v1alpha1/conditions.ts";
import { ANNOTATIONS } from "../../../../src/api/v1alpha1/meta.ts";
import type { VideoJobStatus } from "../../../../src/api/v1alpha1/video-job.ts";
import { hashOf, keyedHashOf } from "../../../../src/controllers/hash.ts";
import { videoRequest } from "../../../../src/controllers/jobs/requests/video.ts";
import { failure } from "../../../support/scripted-api-server.ts";
import { NOTHING_READ } from "../../../support/shared.ts";
import { intended, jobWorld, type Meddle, other, UID } from "./world.ts";

const tooMany = () => ({ status: 429, body: { code: 429, reason: "RATE_LIMIT_EXCEEDED" } });
const time = "2026-03-01T00:00:00Z";
const first = { id: "intent-0", specHash: "0", attempt: 1, time };

type World = Awaited<ReturnType<typeof jobWorld>>;

const readyOf = ({ job }: World) => getCondition(job()?.status?.conditions, "Ready");

/** Calls `then` instead of storing the first record. */
function atFirstRecord(then: Meddle): Meddle {
  let met = false;
  return (status) => {
    if (met || status.submission?.state !== "Intended") return undefined;
    met = true;
    return then(status);
  };
}

describe("the record of a request", () => {
  it("is in the status right before the first byte, and its outcome after it: one write each", async () => {
    let atFirstByte: VideoJobStatus | undefined;
    const w = await jobWorld({
      answer: () => {
        atFirstByte = w.api.stored().status;
        return { body: { task_id: "task-1" } };
      },
    });
    await w.send();
    expect(w.steps).toEqual(["status Pending Intended", "request", "status Queued Accepted"]);
    expect(w.api.stored().metadata.uid).toBe(UID);
    expect(atFirstByte).toMatchObject({
      account: { kind: "Account", name: "default", baseURL: w.service.url },
      submission: {
        id: expect.any(String),
        specHash: expect.any(String),
        attempt: 1,
        state: "Intended",
        keyVersion: "0123456789abcdef",
        sender: "one",
        time: expect.any(String),
      },
    });
    const { submission } = w.job()?.status ?? {};
    expect(submission).toMatchObject({ id: atFirstByte?.submission?.id, state: "Accepted" });
    for (const field of ["sender", "keyVersion"]) expect(submission).not.toHaveProperty(field);
  });

  it("shows that a request without effect was not sent", async () => {
    const w = await jobWorld({ answer: tooMany });
    await w.send();
    expect(w.steps.at(-1)).toBe("status Pending NotSent");
  });

  it("has a hash that needs the API key", async () => {
    const w = await jobWorld({});
    await w.send();
    const job = w.job();
    if (job === undefined) throw new Error("the job is gone");
    const { body } = await videoRequest(job, NOTHING_READ);
    const shown = job.status?.submission?.specHash;
    expect([shown === hashOf(body), shown === keyedHashOf(body, "sk-test")]).toEqual([false, true]);
  });

  it("is not written by a process that does not surely serve the account", async () => {
    const w = await jobWorld({ serves: false });
    await w.send();
    expect(w.steps).toEqual(["status Pending undefined"]);
    expect(readyOf(w)?.message).toContain("not serving");
  });
});

it("a job that is older than a restore of etcd shows so, and is sent when the restore is confirmed", async () => {
  let held: string | undefined = "etcd was restored: run mooring confirm-restore";
  const w = await jobWorld({ heldByRestore: () => held });
  await w.reconcile();
  expect(w.steps).toEqual(["status Pending undefined"]);
  expect(readyOf(w)).toMatchObject({ status: "False", reason: "EtcdRestored", message: held });
  held = undefined;
  await w.reconcile();
  await w.woken();
  expect(w.steps).toContain("request");
});

describe("given a record without an outcome", () => {
  it("of another process, the job halts at the account that the request was sent to, and nothing is sent", async () => {
    const w = await jobWorld({ status: intended("earlier") });
    await w.reconcile();
    expect(w.job()?.status).toMatchObject({
      phase: "Halted",
      account: other,
      attempts: 1,
      submission: { id: "intent-1", state: "Unknown" },
    });
    await w.reconcile();
    expect(w.steps).toEqual(["status Halted Unknown"]);
  });

  it("of another process, the request is sent again under Resubmit, as another attempt", async () => {
    const w = await jobWorld({ status: intended("earlier"), spec: { onSubmissionUnknown: "Resubmit" } });
    await w.reconcile();
    expect(w.steps).toEqual(["status Pending Unknown"]);
    expect(w.job()?.status?.nextAttemptTime).toBeDefined();
    const { nextAttemptTime: _, ...status } = w.job()?.status ?? { conditions: [] };
    const account = { ...other, baseURL: w.service.url };
    w.kind.store.upsert(w.api.put({ status: { ...status, account } })); // the pause is over
    await w.send();
    expect(w.steps.slice(1)).toEqual(["status Pending Intended", "request", "status Queued Accepted"]);
    expect(w.job()?.status).toMatchObject({ attempts: 2, submission: { attempt: 2 } });
  });

  it("of this process that is not under way, it was not sent: it is sent now, to the same account, as the same attempt", async () => {
    const w = await jobWorld({ status: intended("one") });
    await w.send();
    expect(w.steps).toEqual(["status Pending NotSent", "status Pending Intended", "request", "status Queued Accepted"]);
    const { submission, account } = w.job()?.status ?? {};
    expect(submission).toMatchObject({ attempt: 1 });
    expect(submission?.id).not.toBe("intent-1");
    expect(account).toMatchObject({ kind: "ClusterAccount", name: "other" });
  });

  it.each([
    ["suspended", { suspend: true }, {}],
    ["paused", {}, { "mooring.dev/paused": "true" }],
    ["another controller's", { managedBy: "example.com/queue" }, {}],
  ])("of this process, a job that is %s shows that it was not sent", async (_name, spec, annotations) => {
    const w = await jobWorld({ status: intended("one"), spec });
    w.annotate(annotations);
    await w.reconcile();
    expect(w.job()?.status).toMatchObject({ submission: { id: "intent-1", attempt: 1, state: "NotSent" } });
    expect(w.steps).not.toContain("request");
  });
});

describe("when the API server refuses the record because the job changed", () => {
  it("the request goes on if the job has the record: the response to the write was lost", async () => {
    const meddle = atFirstRecord((status) => {
      w.api.put({ status });
      return "cut";
    });
    const w: World = await jobWorld({ meddle });
    await w.send();
    expect(w.steps).toEqual(["request", "status Queued Accepted"]);
    expect(w.api.requests.map(({ method }) => method)).toEqual(["PUT", "PUT", "GET", "PUT"]);
  });

  it("the record is written to the version with an unrelated change, and the request is sent", async () => {
    const meddle = atFirstRecord(() => {
      w.api.put({ metadata: { labels: { team: "blue" } } });
      return failure(409, "Conflict");
    });
    const w: World = await jobWorld({ meddle });
    await w.send();
    expect(w.steps).toEqual(["status Pending Intended", "request", "status Queued Accepted"]);
    expect(w.api.stored().metadata.labels).toEqual({ team: "blue" });
  });

  it("the request is not sent if the change pauses the job", async () => {
    const meddle = atFirstRecord(() => {
      w.api.put({ metadata: { annotations: { "mooring.dev/paused": "true" } } });
      return failure(409, "Conflict");
    });
    const w: World = await jobWorld({ meddle });
    await w.send();
    expect(w.steps).toEqual(["status Pending Intended", "status Pending NotSent"]);
  });

  it("the request is not sent if the job shows another one, which stays", async () => {
    const meddle = atFirstRecord(() => {
      const submission = { ...first, state: "Intended", sender: "two" } as const;
      w.api.put({ status: { conditions: [], phase: "Pending", submission } });
      return failure(409, "Conflict");
    });
    const w: World = await jobWorld({ meddle });
    await w.reconcile();
    await w.woken();
    expect(w.running.find(UID)?.answer?.kind).toBe("Withdrawn");
    await w.reconcile();
    expect([w.steps, w.running.find(UID)]).toEqual([[], undefined]);
    expect(w.api.stored().status?.submission).toMatchObject({ id: "intent-0", sender: "two" });
  });
});

describe("nothing is sent", () => {
  it.each(["sender", "submission"] as const)(
    "when the API server drops the field %s: the job says that its CRD is of another version",
    async (field) => {
      const w = await jobWorld({
        meddle: (status) => {
          if (field === "sender") delete status.submission?.sender;
          else delete status.submission;
          return undefined;
        },
      });
      await w.send();
      expect(w.steps).not.toContain("request");
      expect(w.job()?.status?.submission?.state).toBe(field === "sender" ? "NotSent" : undefined);
      expect(readyOf(w)?.message).toMatch(/does not store the record .* VideoJob team\/sea, .* upgrade the CRDs/);
    },
  );

  it.each<[string, VideoJobStatus | undefined]>([
    ["for the first request", undefined],
    ["for the next attempt", { conditions: [], phase: "Pending", submission: { ...first, state: "Unknown" } }],
    ["for the same attempt", { conditions: [], phase: "Pending", submission: { ...first, state: "NotSent" } }],
  ])("when the API server refuses the record %s: the job shows why, and no other submission", async (_name, status) => {
    const meddle = atFirstRecord(() => failure(403, "Forbidden", "the quota is used up"));
    const w = await jobWorld({ meddle, ...(status && { status }) });
    await w.send();
    expect(w.steps).toEqual([`status Pending ${status?.submission?.state}`]);
    expect(w.job()?.status?.submission).toEqual(status?.submission);
    expect(readyOf(w)).toMatchObject({ reason: "Retrying", message: expect.stringContaining("the quota is used up") });
  });

  it("before an API server that fails has stored the record: then it is sent once", async () => {
    let failures = 0;
    const meddle: Meddle = ({ submission }) => {
      if (submission?.state !== "Intended" || ++failures > 2) return undefined;
      expect(w.steps).toEqual([]);
      return failure(500, "InternalError");
    };
    const w: World = await jobWorld({ meddle });
    await w.send();
    expect(w.steps).toEqual(["status Pending Intended", "request", "status Queued Accepted"]);
  });
});

describe("given a former server whose request was not taken", () => {
  it.each(["Intended", "Accepted"] as const)(
    "the request of the next server stays in the status: %s",
    async (state) => {
      const w = await jobWorld({ answer: tooMany });
      await w.reconcile();
      await w.woken();
      const submission = { ...first, id: "later", state, ...(state === "Intended" && { sender: "two" }) };
      const status: VideoJobStatus = { conditions: [], phase: "Queued", taskID: "task-2", submission };
      w.kind.store.upsert(w.api.put({ status }));
      await w.reconcile();
      expect(w.steps).toEqual(["status Pending Intended", "request"]);
      expect(w.job()?.status).toMatchObject({ taskID: "task-2", submission: { id: "later", state } });
    },
  );
});

describe("an earlier request whose acceptance another process records stops the next attempt", () => {
  const unknown: VideoJobStatus = { conditions: [], phase: "Pending", submission: { ...first, state: "Unknown" } };
  const accepted: VideoJobStatus = {
    conditions: [],
    phase: "Queued",
    taskID: "task-0",
    submission: { ...first, state: "Accepted" },
  };

  it.each(["before the record is written", "while the record is written"])("%s", async (when) => {
    const meddle = atFirstRecord(() => {
      w.api.put({ status: accepted });
      return failure(409, "Conflict");
    });
    const w: World = await jobWorld({ status: unknown, ...(when.startsWith("while") && { meddle }) });
    await w.reconcile();
    if (when.startsWith("before")) w.kind.store.upsert(w.api.put({ status: accepted }));
    await w.woken();
    await w.reconcile();
    expect(w.steps).toEqual([]);
    expect(w.job()?.status).toEqual(accepted);
    expect(w.running.find(UID)).toBeUndefined();
  });
});

describe("a request of another process", () => {
  it("is not judged while that process lives: it writes the outcome", async () => {
    const status = intended("mooring/operator-2");
    let ended = false;
    const w = await jobWorld({ status, hasSenderEnded: () => ended });
    expect(await w.reconcile()).toEqual({ requeueAfterMs: 2_000 });
    expect([w.api.stored().status, w.steps]).toEqual([status, []]);
    ended = true;
    await w.reconcile();
    expect(w.job()?.status).toMatchObject({ phase: "Halted", submission: { state: "Unknown" } });
  });

  it("gets its outcome although this process has judged it, because its lease had ended", async () => {
    const response = Promise.withResolvers<{ body: object }>();
    const sent = Promise.withResolvers<void>();
    const w = await jobWorld({
      answer: () => {
        sent.resolve();
        return response.promise;
      },
    });
    await w.reconcile();
    await sent.promise;
    const unknown: VideoJobStatus = { conditions: [], phase: "Halted", account: other };
    const { submission } = w.api.stored().status ?? {};
    if (submission === undefined) throw new Error("no record");
    w.kind.store.upsert(w.api.put({ status: { ...unknown, submission: { ...submission, state: "Unknown" } } }));
    response.resolve({ body: { task_id: "task-1" } });
    await w.woken();
    await w.reconcile();
    expect(w.api.stored().status).toMatchObject({ taskID: "task-1", submission: { state: "Accepted" } });
  });
});

describe("when the API server refuses the status with the outcome", () => {
  it.each([
    ["its size", 413, "RequestEntityTooLarge"],
    ["its content", 422, "Invalid"],
  ])("for %s, the submission and the task are written alone, and the task is followed", async (_name, code, reason) => {
    let refuses = true;
    const meddle: Meddle = ({ phase }) => (refuses && phase === "Queued" ? failure(code, reason) : undefined);
    const w = await jobWorld({ meddle });
    await w.send();
    expect(w.steps).toEqual(["status Pending Intended", "request", "status Pending Accepted"]);
    expect(w.api.stored().status).toMatchObject({ taskID: "task-1", attempts: 1, submission: { state: "Accepted" } });
    expect([w.polled(), w.running.find(UID)]).toEqual([1, undefined]);
    refuses = false;
    await w.reconcile();
    expect(w.steps.slice(3)).toEqual(["status Queued Accepted"]);
  });

  it("of a response without a task, the job is not sent again, and shows the whole status as soon as it can", async () => {
    let refuses = true;
    const meddle: Meddle = ({ conditions }) =>
      refuses && getCondition(conditions, "Stalled") !== undefined ? failure(422, "Invalid") : undefined;
    const spec = { onSubmissionUnknown: "Resubmit" };
    const w = await jobWorld({ meddle, spec, answer: () => ({ body: "unreadable" }) });
    await expect(w.send()).rejects.toThrow("Invalid");
    expect(w.steps).toEqual(["status Pending Intended", "request", "status Halted Accepted"]);
    refuses = false;
    await w.reconcile();
    expect(readyOf(w)?.reason).toBe("ResponseUnusable");
    expect(w.steps.filter((step) => step === "request")).toHaveLength(1);
  });

  it("of a response without a task, the annotations that exist by then release nothing", async () => {
    const meddle: Meddle = ({ conditions }) =>
      getCondition(conditions, "Stalled") === undefined ? undefined : failure(422, "Invalid");
    const w = await jobWorld({ meddle, answer: () => ({ body: "unreadable" }) });
    w.annotate({ [ANNOTATIONS.resubmitToken]: "of-the-copied-job", [ANNOTATIONS.attachTask]: "task-9" });
    await expect(w.send()).rejects.toThrow("Invalid");
    expect(w.api.stored().status).toMatchObject({
      phase: "Halted",
      lastHandledResubmitToken: "of-the-copied-job",
      lastHandledAttachTask: "task-9",
    });
  });

  it("for another cause, the whole status is written again", async () => {
    let refuses = true;
    const meddle: Meddle = ({ phase }) => (refuses && phase === "Queued" ? failure(503, "Unavailable") : undefined);
    const w = await jobWorld({ meddle });
    await expect(w.send()).rejects.toThrow();
    refuses = false;
    await w.reconcile();
    expect(w.steps).toEqual(["status Pending Intended", "request", "status Queued Accepted"]);
  });
});
