import { expect, it } from "vitest";
import { speechJobResource } from "../../src/api/v1alpha1/kinds.ts";
import type { SpeechJobStatus } from "../../src/api/v1alpha1/speech-job.ts";
import type { KubeObject } from "../../src/kube/types.ts";
import { configMapResource } from "../../src/submission/journal.ts";
import { configMapOf } from "../../src/submission/journal-shards.ts";
import { JOURNAL_MAPS, journalEntriesOf } from "../support/journal-maps.ts";
import { type Change, manifest } from "../support/manifests.ts";
import {
  type AnyObject,
  closeWorldsAfterAll,
  condition,
  disposableWorld,
  eventually,
  type World,
  waitForCondition,
} from "../support/world.ts";

closeWorldsAfterAll();

const COUNT = 20;
const namesOf = (count: number) => Array.from({ length: count }, (_, index) => `lost-${index}`);
const names = namesOf(COUNT);
/** More than the first ConfigMap takes. */
const MANY = 100;

/** A response takes this long after its effect: longer than the operator lives. */
const LATENCY_MS = 60_000;

/**
 * A world whose operator is killed while each of the objects has a request in flight. The ConfigMaps of the journal are deleted
 * then. @param change.lost default: all
 */
async function loseJournal(
  world: World,
  operation: string,
  inFlight: () => Promise<number>,
  {
    count = COUNT,
    specOf = () => ({}),
    lost = () => JOURNAL_MAPS,
  }: { count?: number; specOf?: (name: string) => Change; lost?: (objects: AnyObject[]) => readonly string[] } = {},
): Promise<void> {
  const operator = await world.startOperator();
  await waitForCondition(world, "Account", "default", "Ready");
  await world.control("POST", "/__faults", {
    operation,
    kind: "latency",
    latencyMs: LATENCY_MS,
    after: true,
    probability: 1,
  });
  const variant = operation === "createEndpoint" ? "endpoint" : "hd";
  for (const name of namesOf(count)) await world.apply(manifest(variant, specOf(name), name));
  await eventually("every request took effect", async () => (await inFlight()) === count);
  await operator.kill();
  const objects = await world.list(operation === "createEndpoint" ? "GpuEndpoint" : "SpeechJob");
  for (const name of lost(objects)) await world.remove("ConfigMap", name);
  await world.control("DELETE", "/__faults");
}

it.concurrent(`${COUNT} jobs in flight, the operator is killed and the journal is lost: each halts, none is paid twice`, async () => {
  const world = await disposableWorld("lostjobs");
  await loseJournal(world, "submitSpeech", async () => (await world.state()).tasks.length);
  await world.apply(manifest("hd", {}, "new"));
  await world.startOperator();
  await waitForCondition(world, "SpeechJob", "new", "Complete");
  const jobs = await eventually("every job is halted", async () => {
    const all = (await world.list("SpeechJob")).filter(({ metadata }) => metadata.name !== "new");
    return all.every(({ status }) => status?.phase !== "Pending") && all;
  });
  expect(jobs.map(({ status }) => status?.phase)).toEqual(names.map(() => "Halted"));
  expect(await world.audit("submitSpeech")).toHaveLength(COUNT + 1);
  const [job] = jobs as [AnyObject];
  expect(condition(job, "Stalled")).toMatchObject({ reason: "SubmissionUnknown" });
  expect(condition(job, "Stalled")?.message).toContain("the submission journal does not have the request");
  expect(job.status).toMatchObject({ attempts: 1, account: { kind: "Account", name: "default" } });
});

it.concurrent("one ConfigMap of the journal is lost: the message of its jobs names it, and the others say what is so", async () => {
  const world = await disposableWorld("lostshard");
  // An account has at most 64 requests under way.
  const { spec } = await world.get("Account", "default");
  await world.apply({ kind: "Account", metadata: { name: "second" }, spec });
  const inFlight = async () => (await world.state()).tasks.length;
  const shown = ({ status }: AnyObject) => (status as SpeechJobStatus | undefined)?.submission?.journal;
  let lost = { name: "", uid: "" };
  /** UIDs of ConfigMaps by job. */
  let before = new Map<string, string | undefined>();
  await loseJournal(world, "submitSpeech", inFlight, {
    count: MANY,
    specOf: (name) => ({ accountRef: { name: /[02468]$/.test(name) ? "default" : "second" } }),
    lost(objects) {
      before = new Map(objects.map((object) => [object.metadata.name, shown(object)]));
      const head = before.get("lost-0"); // was sent first
      const one = objects.find((object) => shown(object) !== head) ?? expect.fail("one ConfigMap has all intents");
      lost = { name: JOURNAL_MAPS[configMapOf(one.metadata.uid ?? "")] ?? "", uid: shown(one) ?? "" };
      return [lost.name];
    },
  });
  await world.startOperator();
  const jobs = await eventually("every job is halted", async () => {
    const all = await world.list("SpeechJob");
    return all.every(({ status }) => status?.phase === "Halted") && all;
  });
  expect(await world.audit("submitSpeech")).toHaveLength(MANY);
  expect(new Set(before.values()).size).toBeGreaterThan(2);
  for (const job of jobs) {
    const cause =
      before.get(job.metadata.name) === lost.uid
        ? `ConfigMap ${world.namespace}/mooring-journal or ${world.namespace}/${lost.name} was deleted or restored`
        : "the operator ended before it received the response";
    expect(condition(job, "Stalled")?.message).toContain(cause);
  }
});

it.concurrent("the journal of an earlier version, one ConfigMap, has its intents after an upgrade", async () => {
  const world = await disposableWorld("onemap");
  await loseJournal(world, "submitSpeech", async () => (await world.state()).tasks.length, { lost: () => [] });
  await mergeJournal(world);
  await world.startOperator();
  const jobs = await eventually("every job is halted", async () => {
    const all = await world.list("SpeechJob");
    return all.every(({ status }) => status?.phase === "Halted") && all;
  });
  expect(await world.audit("submitSpeech")).toHaveLength(COUNT);
  for (const job of jobs) {
    expect(condition(job, "Stalled")?.message).toContain("the operator ended before it received the response");
  }
  await eventually("the journal is settled", async () => (await journalEntriesOf(world)).length === 0);
});

/** Leaves the journal and the statuses as an earlier version does: one ConfigMap, and its UID in each intent. */
async function mergeJournal(world: World): Promise<void> {
  const { namespace } = world;
  const place = { namespace, name: "mooring-journal" };
  const head = await world.kube.get<KubeObject & { data?: Record<string, string> }>(configMapResource, place);
  const intents = JSON.stringify(await journalEntriesOf(world));
  const { annotations: _mark, ...metadata } = head.metadata;
  const data = { epoch: head.data?.["epoch"] ?? "", holder: head.data?.["holder"] ?? "", intents };
  await world.kube.update<typeof head>(configMapResource, place, { ...head, metadata, data });
  for (const name of JOURNAL_MAPS.slice(1)) await world.remove("ConfigMap", name);
  for (const name of names) {
    const status = { submission: { journal: head.metadata.uid } };
    await world.kube.mergePatch(speechJobResource, { namespace, name, subresource: "status" }, { status });
  }
}

const marks: { mark: string; specOf: (name: string) => Change }[] = [
  { mark: "finalizer", specOf: () => ({}) },
  { mark: "none", specOf: () => ({ deletionPolicy: "Retain" }) },
  { mark: "intent", specOf: (appName) => ({ appName }) },
];

it.concurrent.each(marks)(
  `${COUNT} creates in flight, the operator is killed and the journal is lost: each endpoint is found again; mark of the object: $mark`,
  async ({ mark, specOf }) => {
    // The list shows a new endpoint late, and a second endpoint of the same app name would be accepted.
    const world = await disposableWorld(`lost${mark}`, {
      simulator: { listDelayMs: 300_000, duplicateAppName: "Accept" },
    });
    await loseJournal(world, "createEndpoint", async () => (await world.state()).endpoints.length, { specOf });
    await world.startOperator();
    for (const name of names) await waitForCondition(world, "GpuEndpoint", name, "Ready");
    const { endpoints } = await world.state();
    expect(endpoints).toHaveLength(COUNT);
    expect(await world.audit("createEndpoint")).toHaveLength(COUNT);
  },
);

it.concurrent("the intent of a namespace that is not watched for a while stays: the job halts when it is watched again", async () => {
  const world = await disposableWorld("narrowed");
  const first = await world.startOperator();
  await waitForCondition(world, "Account", "default", "Ready");
  await world.control("POST", "/__faults", {
    operation: "submitSpeech",
    kind: "latency",
    latencyMs: 60_000,
    after: true,
  });
  await world.apply(manifest("hd", {}, "sent"));
  await eventually("the request took effect", async () => (await world.state()).tasks.length === 1);
  await first.kill();
  const narrowed = await world.startOperator({ args: ["--watch-namespaces=default"] });
  await eventually("the next operator works", async () => narrowed.log().includes("controllers started"));
  await narrowed.stop();

  await world.startOperator();
  await eventually("the job is halted", async () => (await world.get("SpeechJob", "sent")).status?.phase === "Halted");
  expect(await world.audit("submitSpeech")).toHaveLength(1);
});
