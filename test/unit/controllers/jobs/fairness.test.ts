import { expect, it, onTestFinished } from "vitest";
import { speechJobResource } from "../../../../src/api/v1alpha1/kinds.ts";
import type { SpeechJob } from "../../../../src/api/v1alpha1/speech-job.ts";
import { createAccountRegistry } from "../../../../src/controllers/account/registry.ts";
import { createKind } from "../../../../src/controllers/controller-deps.ts";
import { createJobReconciler } from "../../../../src/controllers/jobs/controller.ts";
import { speechJobAdapter } from "../../../../src/controllers/jobs/requests/speech.ts";
import { keyOf } from "../../../../src/kube/types.ts";
import { createGate } from "../../../../src/provider/http/gate.ts";
import { createTaskPoller } from "../../../../src/provider/tasks/poller.ts";
import type { Speech } from "../../../../src/provider/types.ts";
import { createController } from "../../../../src/runtime/controller.ts";
import { createMetrics } from "../../../../src/runtime/metrics.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import { createSpendingAdmission } from "../../../../src/submission/admission.ts";
import { NO_ALLOWANCE } from "../../../../src/submission/allowance.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { speechJobOf, taskOf } from "../../../support/jobs.ts";
import { memoryKube } from "../../../support/memory-kube.ts";
import { silentLog } from "../../../support/scripted-api-server.ts";
import { accountAt } from "../../../support/service-account.ts";
import { jobWiring, sharedOf } from "../../../support/shared.ts";

/** Requests of the account a second: 10,000 jobs in a line would take 5,000 s. */
const RATE = 2;
const ACCOUNT = "ClusterAccount/default";

/** Jobs of one shared account whose tasks do not end, with the operator's own queue, admission, rate limit and poller. */
async function setUp() {
  const clock = createFakeClock();
  const random = () => 0.5;
  const gate = createGate({ clock, random, requestsPerSecond: RATE, burst: 1 });
  const sent: { namespace: string; at: number }[] = [];
  const speech: Speech = {
    ...accountAt("http://127.0.0.1:1").speech,
    async submit({ text }, { signal, commit, beforeSend }) {
      const pass = await gate.enter("submitSpeech", { signal });
      await commit?.();
      beforeSend?.();
      pass.leave();
      sent.push({ namespace: text, at: clock.monotonic() });
      return { taskID: `task-${sent.length}` };
    },
  };
  const kind = {
    resource: speechJobResource,
    store: createStore<SpeechJob>({ task: ({ status }) => (status?.taskID === undefined ? [] : [status.taskID]) }),
  };
  const enqueue = (key: string) => controller.enqueue(key);
  const tasks = createTaskPoller({
    clock,
    random,
    client: {
      async getTaskResult({ taskID }, options) {
        (await gate.enter("getTaskResult", { signal: options?.signal })).leave();
        return taskOf("TASK_STATUS_PROCESSING", { taskID });
      },
    },
    onChange: (taskID) => {
      for (const job of kind.store.byIndex("task", taskID)) enqueue(keyOf(job));
    },
    onError: () => {},
  });
  onTestFinished(() => tasks.stop());
  tasks.start();
  const accounts = createAccountRegistry(
    (key) => key === ACCOUNT,
    () => {},
  );
  accounts.set(ACCOUNT, {
    state: { kind: "Ready" },
    handle: accountAt("http://127.0.0.1:1", { key: ACCOUNT, speech, tasks }),
  });
  const admission = createSpendingAdmission({ clock, allowance: () => NO_ALLOWANCE, inFlight: () => [] });
  const { client } = memoryKube(kind.store);
  const shared = sharedOf(client, speechJobResource, { clock, accounts, admission });
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
  const create = (namespace: string, index: number) => {
    const { metadata, ...job } = speechJobOf("hd", { text: namespace });
    const name = `job-${index}`;
    const creationTimestamp = new Date(clock.now()).toISOString();
    kind.store.upsert({
      ...job,
      metadata: { ...metadata, namespace, name, uid: `${namespace}-${index}`, creationTimestamp },
    });
    enqueue(`${namespace}/${name}`);
  };
  return { clock, create, sent };
}

it("10,000 jobs of one namespace delay the first job of another by less than a minute", async () => {
  const { clock, create, sent } = await setUp();
  for (let i = 0; i < 10_000; i++) create("busy", i);
  await clock.advance(30_000);
  expect(sent.length).toBeGreaterThan(10);
  const created = clock.monotonic();
  create("quiet", 0);
  await clock.advance(60_000);
  const first = sent.find(({ namespace }) => namespace === "quiet");
  expect((first?.at ?? Number.POSITIVE_INFINITY) - created).toBeLessThan(60_000);
  expect(sent.length).toBeLessThan(300);
});
