import { expect, it, onTestFinished } from "vitest";
import { getCondition } from "../../../../src/api/v1alpha1/conditions.ts";
import { speechJobResource } from "../../../../src/api/v1alpha1/kinds.ts";
import type { SpeechJob } from "../../../../src/api/v1alpha1/speech-job.ts";
import { createPace } from "../../../../src/base/token-bucket.ts";
import { createAccountRegistry } from "../../../../src/controllers/account/registry.ts";
import { createKind } from "../../../../src/controllers/controller-deps.ts";
import { createJobReconciler } from "../../../../src/controllers/jobs/controller.ts";
import { speechJobAdapter } from "../../../../src/controllers/jobs/requests/speech.ts";
import type { KubeClient } from "../../../../src/kube/client.ts";
import { KubeError } from "../../../../src/kube/errors.ts";
import { configMapResource } from "../../../../src/kube/resource.ts";
import { keyOf } from "../../../../src/kube/types.ts";
import { createController } from "../../../../src/runtime/controller.ts";
import { createMetrics } from "../../../../src/runtime/metrics.ts";
import { createReferencePoller } from "../../../../src/runtime/reference-poller.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import { createSpendingAdmission } from "../../../../src/submission/admission.ts";
import type { Allowance } from "../../../../src/submission/allowance.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { speechJobOf } from "../../../support/jobs.ts";
import { memoryKube } from "../../../support/memory-kube.ts";
import { silentLog } from "../../../support/scripted-api-server.ts";
import { accountAt } from "../../../support/service-account.ts";
import { jobWiring, sharedOf } from "../../../support/shared.ts";
import { storedMeta } from "../../../support/stored-meta.ts";

const ACCOUNT = "Account/team/default";

/** SpeechJobs whose text is in a ConfigMap, with the operator's own queue, admission and reference poller. */
async function setUp(allowance: Allowance) {
  const clock = createFakeClock();
  const random = () => 0.5;
  const kind = { resource: speechJobResource, store: createStore<SpeechJob>() };
  const memory = memoryKube(kind.store).client;
  const reads: string[] = [];
  const removed = new Set<string>();
  const client: KubeClient = {
    ...memory,
    get(resource, place, options) {
      const { name = "" } = place;
      if (name.startsWith("text")) reads.push(name);
      if (removed.has(name)) throw new KubeError("not found", { status: 404, reason: "NotFound" });
      return memory.get(resource, place, options);
    },
  };
  const sent: string[] = [];
  const account = accountAt("http://127.0.0.1:1");
  const speech: typeof account.speech = {
    ...account.speech,
    async submit({ text }, { commit, beforeSend }) {
      await commit?.();
      beforeSend?.();
      sent.push(text);
      return { taskID: `task-${sent.length}` };
    },
  };
  const accounts = createAccountRegistry(
    (key) => key === ACCOUNT,
    () => {},
  );
  accounts.set(ACCOUNT, { state: { kind: "Ready" }, handle: { ...account, speech } });
  const admission = createSpendingAdmission({ clock, allowance: () => allowance, inFlight: () => [] });
  const references = createReferencePoller({
    client,
    clock,
    pace: createPace(clock, 10),
    intervalMs: 20_000,
    log: silentLog,
    onChange: (key) => controller.enqueue(key.slice(key.indexOf(":") + 1)),
  });
  onTestFinished(() => references.stop());
  const shared = sharedOf(client, speechJobResource, { clock, accounts, admission, references });
  const enqueue = (key: string) => controller.enqueue(key);
  const controller = createController({
    name: "speechjob",
    ...createJobReconciler(shared, speechJobAdapter(createKind(client, kind)), jobWiring(shared), enqueue),
    maxConcurrentReconciles: 10,
    deadlineMs: 300_000,
    clock,
    random,
    log: silentLog,
    metrics: createMetrics(),
  });
  controller.start();
  references.start();
  return {
    clock,
    kind,
    references,
    reads,
    sent,
    /** Changes what the account allows. */
    allow(change: Partial<Allowance>) {
      Object.assign(allowance, change);
      admission.recheck(ACCOUNT);
    },
    createText: async (name: string, text: string) => {
      const body = { ...configMap(name), data: { text } };
      await client.create(configMapResource, { namespace: "team" }, body);
    },
    removeText: (name: string) => void removed.add(name),
    createJob(name: string, configMapName = "text") {
      const textFrom = { configMapKeyRef: { name: configMapName, key: "text" } };
      const { metadata, ...job } = speechJobOf("hd", { text: null, textFrom });
      const creationTimestamp = new Date(clock.now()).toISOString();
      const object = { ...job, metadata: { ...metadata, name, uid: name, creationTimestamp } };
      kind.store.upsert(object);
      enqueue(keyOf(object));
    },
    deleteJob(name: string) {
      const job = kind.store.get(`team/${name}`);
      if (job !== undefined) kind.store.remove(job);
      enqueue(`team/${name}`);
    },
    readyReason: (name: string) => getCondition(kind.store.get(`team/${name}`)?.status?.conditions, "Ready")?.reason,
  };
}

const configMap = (name: string) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: storedMeta({ name }), spec: {} });
const noSlots = (): Allowance => ({ maxTasks: 0, budget: undefined, reserve: undefined });

it("1,000 jobs that wait for a slot for ten minutes read their texts at most twice each", async () => {
  const w = await setUp(noSlots());
  await w.createText("text", "Ahoy.");
  for (let index = 0; index < 1_000; index++) w.createJob(`job-${index}`);
  await w.clock.advance(600_000);
  expect(w.readyReason("job-999")).toBe("ConcurrencyLimited");
  expect(w.reads.length).toBeLessThanOrEqual(2_000);
  const readsBefore = w.reads.length;
  await w.clock.advance(600_000);
  expect(w.reads).toHaveLength(readsBefore);
});

it("a job sends the text that its reference has when the job gets its slot", async () => {
  const w = await setUp(noSlots());
  await w.createText("text", "Ahoy.");
  w.createJob("job");
  await w.clock.advance(120_000);
  await w.createText("text", "Farewell.");
  w.allow({ maxTasks: 1 });
  await w.clock.advance(5_000);
  expect(w.sent).toEqual(["Farewell."]);
});

it("a job shows a missing reference at once, before it has a slot, and continues when the reference appears", async () => {
  const w = await setUp({ ...noSlots(), maxTasks: 1 });
  w.createJob("job");
  await w.clock.advance(1_000);
  expect(w.readyReason("job")).toBe("ConfigMapNotFound");
  await w.createText("text", "Ahoy.");
  await w.clock.advance(25_000);
  expect(w.sent).toEqual(["Ahoy."]);
  expect(w.references.size()).toBe(0);
});

it("a job whose reference is gone when it gets its slot leaves the slot to the next job", async () => {
  const w = await setUp(noSlots());
  await w.createText("text-a", "A.");
  await w.createText("text-b", "B.");
  w.createJob("a", "text-a");
  w.createJob("b", "text-b");
  await w.clock.advance(5_000);
  w.removeText("text-a");
  w.allow({ maxTasks: 1 });
  await w.clock.advance(5_000);
  expect(w.readyReason("a")).toBe("ConfigMapNotFound");
  expect(w.sent).toEqual(["B."]);
});

it("1,000 jobs whose references are missing cost at most 10 reads a second, and nothing when they are deleted", async () => {
  const w = await setUp(noSlots());
  for (let index = 0; index < 1_000; index++) w.createJob(`job-${index}`, `text-${index}`);
  await w.clock.advance(300_000);
  // One read by each job, one by the poller, and one by the job that the poller wakes.
  const firstReads = w.reads.length;
  expect(w.references.size()).toBe(1_000);
  await w.clock.advance(100_000);
  expect(w.reads.length - firstReads).toBeLessThanOrEqual(1_000);
  for (let index = 0; index < 1_000; index++) w.deleteJob(`job-${index}`);
  await w.clock.advance(5_000);
  expect(w.references.size()).toBe(0);
});
