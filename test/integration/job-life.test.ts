import { beforeAll, describe, expect, it } from "vitest";
import { eventResource } from "../../src/kube/resource.ts";
import { manifest } from "../support/manifests.ts";
import { type AnyObject, condition, createWorld, eventually, type World, waitForCondition } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld("joblife", { simulator: { timeScale: 0.1, speechMaxCharacters: 50_000 } });
  await world.startOperator();
});

type Event = AnyObject & { reason: string; type: string; note: string; regarding: { name: string } };
const events = async (name: string, reason: string): Promise<Event[]> =>
  (await world.kube.list<Event>(eventResource, { namespace: world.namespace })).items.filter(
    (event) => event.regarding.name === name && event.reason === reason,
  );
const calls = async (operation: string, text: string) =>
  (await world.audit(operation)).filter(({ body }) => JSON.stringify(body).includes(text));
/** A task that never ends. */
const endless = (match: string) =>
  world.control("POST", "/__faults", [
    { operation: "submitSpeech", match, kind: "status", status: 200, body: { task_id: `endless-${match}` } },
    {
      operation: "getTaskResult",
      match: `endless-${match}`,
      kind: "status",
      status: 200,
      probability: 1,
      body: { task: { status: "TASK_STATUS_PROCESSING", progress_percent: 5 } },
    },
  ]);
const phase = (kind: string, name: string, wanted: string) =>
  eventually(`${name} is ${wanted}`, async () => {
    const job = await world.get(kind, name);
    return job.status?.phase === wanted && job;
  });
const gone = (kind: string, name: string) =>
  eventually(`${name} is gone`, async () => !(await world.list(kind)).some(({ metadata }) => metadata.name === name));

describe.concurrent("deleting a job", () => {
  it("before it was submitted makes no call and tells nothing", async () => {
    await world.apply(manifest("hd", { text: "never sent", suspend: true }, "unsent"));
    await waitForCondition(world, "SpeechJob", "unsent", "Suspended");
    await world.remove("SpeechJob", "unsent");
    await gone("SpeechJob", "unsent");
    expect(await calls("submitSpeech", "never sent")).toEqual([]);
    expect(await events("unsent", "TaskRunsOn")).toEqual([]);
  });

  it("after it was submitted tells that the task runs on and is charged, and asks about it no more", async () => {
    await endless("runs on");
    await endless("witness");
    await world.apply(manifest("hd", { text: "a witness" }, "witness"));
    await world.apply(manifest("hd", { text: "it runs on" }, "abandoned"));
    await phase("SpeechJob", "abandoned", "Running");
    await world.remove("SpeechJob", "abandoned");
    const [event] = await eventually("the event is there", async () => {
      const found = await events("abandoned", "TaskRunsOn");
      return found.length > 0 && found;
    });
    expect(event).toMatchObject({
      type: "Warning",
      note: "Deleted after it was submitted: task endless-runs on continues at the service and is charged",
    });
    const polls = async (taskID: string) =>
      (await world.audit("getTaskResult")).filter(({ query }) => query?.task_id === taskID).length;
    const before = { deleted: await polls("endless-runs on"), witness: await polls("endless-witness") };
    await eventually("another task was asked about", async () => (await polls("endless-witness")) > before.witness + 2);
    expect(await polls("endless-runs on")).toBeLessThanOrEqual(before.deleted + 1);
  });

  it("whose request is on its way tells when the answer is here", async () => {
    await world.control("POST", "/__faults", {
      operation: "submitSpeech",
      match: "slow answer",
      kind: "latency",
      latencyMs: 4_000,
      after: true,
    });
    await world.apply(manifest("hd", { text: "slow answer" }, "hasty"));
    await eventually("it was sent", async () => (await calls("submitSpeech", "slow answer")).length === 1);
    await world.remove("SpeechJob", "hasty");
    await eventually("the event is there", async () => (await events("hasty", "TaskRunsOn")).length === 1);
  });
});

describe.concurrent("what a job waits for", () => {
  it("is shown while its request is with the service", async () => {
    await world.control("POST", "/__faults", {
      operation: "synthesizeSpeech",
      match: "takes its time",
      kind: "latency",
      latencyMs: 8_000,
    });
    await world.apply(manifest("turbo", { text: "takes its time" }, "slow"));
    const sending = await phase("SpeechJob", "slow", "Submitting");
    expect(condition(sending, "Reconciling")).toMatchObject({ reason: "Submitting" });
    expect((await waitForCondition(world, "SpeechJob", "slow", "Complete")).status?.attempts).toBe(1);
  });

  it("is a Secret that is not there yet; its text is in no status", async () => {
    const textFrom = { secretKeyRef: { name: "speech", key: "text" } };
    await world.apply(manifest("turbo", { text: null, textFrom }, "from-secret"));
    const stalled = await waitForCondition(world, "SpeechJob", "from-secret", "Stalled");
    expect(condition(stalled, "Stalled")).toMatchObject({ reason: "SecretNotFound" });
    await world.apply({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "speech" },
      stringData: { text: "hush hush" },
    });
    const done = await waitForCondition(world, "SpeechJob", "from-secret", "Complete");
    expect(await calls("synthesizeSpeech", "hush hush")).toHaveLength(1);
    expect(JSON.stringify(done.status)).not.toContain("hush");
  });

  it("is another account base URL that it is not bound to: nothing is asked there", async () => {
    await endless("bound");
    const spec = { baseURL: world.simulator.url, apiKeySecretRef: { name: "key", key: "apiKey" } };
    await world.apply({ kind: "Account", metadata: { name: "moving" }, spec });
    const accountRef = { kind: "Account", name: "moving" };
    await world.apply(manifest("hd", { text: "bound", accountRef }, "bound"));
    await phase("SpeechJob", "bound", "Running");
    await world.patch("Account", "moving", {
      spec: { baseURL: world.simulator.url.replace("127.0.0.1", "localhost") },
    });
    const stalled = await waitForCondition(world, "SpeechJob", "bound", "Stalled");
    expect(condition(stalled, "Stalled")).toMatchObject({ reason: "AccountMismatch" });
    expect(stalled.status?.taskID).toBe("endless-bound");
  });
});

describe("what a schema cannot say", () => {
  const cases: [string, string, Record<string, unknown>, RegExp][] = [
    ["a malformed pause", "a <#100#> b", {}, /malformed pause marker/],
    ["two pauses in a row", "a <#1#> <#2#> b", {}, /two pause markers in a row/],
    ["a pause first", "<#1#> b", {}, /pause marker first or last/],
    ["a text too long for the model", "x".repeat(10_000), { model: "speech-2.6-turbo" }, /10000 characters.*1 to 9999/],
    ["a text too long for the account", "x".repeat(50_001), {}, /50001 characters.*1 to 50000/],
    ["no text", "", {}, /0 characters/],
  ];
  it.each(cases)("%s in a ConfigMap is InvalidSpec, and nothing is sent", async (title, text, change, message) => {
    const name = title.replaceAll(" ", "-");
    await world.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { text } });
    const before = (await world.audit()).filter(({ operation }) => /peech/.test(operation)).length;
    const textFrom = { configMapKeyRef: { name, key: "text" } };
    await world.apply(manifest("hd", { text: null, textFrom, ...change }, name));
    const failed = await waitForCondition(world, "SpeechJob", name, "Failed");
    expect(condition(failed, "Failed")).toMatchObject({
      reason: "InvalidSpec",
      message: expect.stringMatching(message),
    });
    expect(condition(failed, "Stalled")).toMatchObject({ reason: "InvalidSpec" });
    expect((await world.audit()).filter(({ operation }) => /peech/.test(operation)).length).toBe(before);
  });
});

describe("a job", () => {
  it("that another controller manages is left alone", async () => {
    await world.apply(manifest("hd", { text: "theirs", managedBy: "example.com/queue" }, "theirs"));
    await world.apply(manifest("turbo", { text: "ours" }, "ours"));
    await waitForCondition(world, "SpeechJob", "ours", "Complete");
    expect(await calls("submitSpeech", "theirs")).toEqual([]);
    expect((await world.get("SpeechJob", "theirs")).status?.phase).toBeUndefined();
  });

  it.concurrent("past its deadline fails with its task, and is not paid again", async () => {
    await endless("too late");
    await world.apply(manifest("hd", { text: "too late", activeDeadlineSeconds: 3, backoffLimit: 3 }, "late"));
    const failed = await waitForCondition(world, "SpeechJob", "late", "Failed");
    expect(condition(failed, "Failed")?.reason).toBe("DeadlineExceeded");
    expect(failed.status).toMatchObject({ taskID: "endless-too late", attempts: 1 });
  });

  it.concurrent("is deleted after its time to live", async () => {
    await world.apply(manifest("turbo", { text: "short life", ttlSecondsAfterFinished: 1 }, "short"));
    await eventually("it was sent", async () => (await calls("synthesizeSpeech", "short life")).length === 1);
    await gone("SpeechJob", "short");
  });

  it.concurrent("warns before its URLs run out, says when they have, and stays Ready", async () => {
    await world.control("POST", "/__faults", [
      { operation: "submitImageToVideo", match: "brief", kind: "status", status: 200, body: { task_id: "task-brief" } },
      {
        operation: "getTaskResult",
        match: "task-brief",
        kind: "status",
        status: 200,
        probability: 1,
        body: {
          task: { status: "TASK_STATUS_SUCCEED" },
          videos: [{ video_url: "http://127.0.0.1:9/v.mp4", video_url_ttl: "8", video_type: "mp4" }],
        },
      },
    ]);
    await world.apply(manifest("image", { imageToVideo: { prompt: "brief" } }, "brief"));
    await waitForCondition(world, "VideoJob", "brief", "ResultsAvailable");
    const expired = await waitForCondition(world, "VideoJob", "brief", "ResultsAvailable", "False");
    expect(condition(expired, "ResultsAvailable")?.reason).toBe("Expired");
    expect(condition(expired, "Ready")?.status).toBe("True");
    expect(expired.status?.phase).toBe("Succeeded");
    await eventually("both were told", async () => {
      const told = [await events("brief", "Expiring"), await events("brief", "Expired")];
      return told.every((one) => one.length === 1 && one[0]?.type === "Warning");
    });
  });

  it("that is asked to be read now is, and says so; when it has finished too", async () => {
    await endless("asked");
    await world.apply(manifest("hd", { text: "asked" }, "asked"));
    await phase("SpeechJob", "asked", "Running");
    for (const [name, annotation] of [
      ["asked", "mooring.dev/reconcile-requested-at"],
      ["ours", "reconcile.fluxcd.io/requestedAt"],
    ] as const) {
      await world.patch("SpeechJob", name, { metadata: { annotations: { [annotation]: "now" } } });
      await eventually(
        `${name} is handled`,
        async () => (await world.get("SpeechJob", name)).status?.lastHandledReconcileAt === "now",
      );
    }
  });

  it("that has ended stays so, whatever is done to it", async () => {
    const before = await world.get("SpeechJob", "ours");
    await world.patch("SpeechJob", "ours", {
      spec: { suspend: true, activeDeadlineSeconds: 1 },
      metadata: { annotations: { "mooring.dev/resubmit-token": "again" } },
    });
    await world.apply(manifest("turbo", { text: "a later one" }, "later"));
    await waitForCondition(world, "SpeechJob", "later", "Complete");
    const { status } = await world.get("SpeechJob", "ours");
    expect([status?.phase, status?.attempts, status?.results]).toEqual(["Succeeded", 1, before.status?.results]);
    expect(await calls("synthesizeSpeech", "ours")).toHaveLength(1);
  });
});
