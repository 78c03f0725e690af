// Informers through chaos, side by side: `npm exec -c 'node bench/chaos.ts --minutes 5 --objects 500 --seed 1'`.
import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createKubeClient } from "../src/kube/client.ts";
import { loadCredentials } from "../src/kube/credentials.ts";
import { configMapResource, namespaceResource } from "../src/kube/resource.ts";
import { type ChaosCounts, startChaosProxy } from "../tools/chaos/chaos-proxy.ts";
import { createWriter, judge, planOperations, runOperations, type Verdict } from "../tools/chaos/chaos-scenario.ts";
import { startControlPlane } from "../tools/cluster/control-plane.ts";
import { targetOf } from "../tools/cluster/credentials.ts";
import type { Answer, Question } from "./chaos-subject.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "5" },
    objects: { type: "string", default: "500" },
    seed: { type: "string", default: "1" },
  },
});
const durationMs = Number(values.minutes) * 60_000;
const objects = Number(values.objects);
const seed = Number(values.seed);
const NAMESPACE = "chaos";
/** Longest time after the chaos for what is late; the longest backoff is 45 s, a silence 30 s. */
const SETTLE_MS = 120_000;

const subjects = [
  { title: "Mooring", program: "mooring", streamingLists: true },
  { title: "Mooring, no streaming lists", program: "mooring", streamingLists: false },
  { title: "makeInformer, restarted on error", program: "client-node-restarted", streamingLists: true },
  { title: "makeInformer, as it is", program: "client-node-plain", streamingLists: true },
];

type Memory = Extract<Answer, { kind: "memory" }>;

/** A process with one informer, and its own proxy. */
async function startSubject(target: Parameters<typeof startChaosProxy>[0], subject: (typeof subjects)[number]) {
  const { streamingLists } = subject;
  const proxy = await startChaosProxy(target, { seed, settings: { streamingLists } });
  const program = fileURLToPath(new URL("chaos-subject.ts", import.meta.url));
  const child = fork(program, [subject.program, proxy.url, NAMESPACE], { execArgv: ["--expose-gc"] });
  const exited = once(child, "exit").then(([code]): never => {
    throw new Error(`${subject.title} has ended with ${code}`);
  });
  exited.catch(() => {}); // told to whoever waits for an answer
  const next = async <K extends Answer["kind"]>(kind: K): Promise<Extract<Answer, { kind: K }>> => {
    const [answer] = (await Promise.race([once(child, "message"), exited])) as [Answer];
    if (answer.kind !== kind) throw new Error(`${subject.title}: ${answer.kind} instead of ${kind}`);
    return answer as Extract<Answer, { kind: K }>;
  };
  const ask = <K extends Question>(question: K) => {
    const answer = next(question);
    child.send(question);
    return answer;
  };
  await next("ready");
  return {
    title: subject.title,
    proxy,
    memory: () => ask("memory"),
    sightings: async () => (await ask("sightings")).sightings,
    stop: async () => {
      child.disconnect();
      await proxy.close();
    },
  };
}

function row(title: string, verdict: Verdict, lateMs: number | undefined, counts: ChaosCounts, memory: Memory[]) {
  const mib = memory.map(({ residentBytes }) => Math.round(residentBytes / 2 ** 20));
  const heap = memory.map(({ heapBytes }) => (heapBytes / 2 ** 20).toFixed(1));
  return {
    informer: title,
    "objects wrong": verdict.wrong.length,
    "last versions missed": verdict.missed.length,
    "deletions missed": verdict.deletionsMissed.length,
    "deleted, shown again": verdict.ghosts.length,
    "versions passed over": verdict.unseen.length,
    "right after, s": lateMs === undefined ? "never" : Math.round(lateMs / 1_000),
    relists: counts.lists - 1,
    requests: counts.requests,
    faults: Object.values(counts.faults).reduce((sum, count) => sum + count, 0),
    "RSS MiB": mib.join(" > "),
    "heap MiB": heap.join(" > "),
  };
}

const controlPlane = await startControlPlane();
const credentials = await loadCredentials({ kubeconfig: controlPlane.kubeconfig });
const client = createKubeClient(credentials);
try {
  await client.create(namespaceResource, {}, { metadata: { name: NAMESPACE }, spec: {} });
  const target = await targetOf(controlPlane.kubeconfig);
  const running = await Promise.all(subjects.map((subject) => startSubject(target, subject)));
  const { write, truth } = createWriter({
    client,
    resource: configMapResource,
    namespace: NAMESPACE,
    build: (name, round) => ({ metadata: { name }, spec: undefined, data: { round: String(round) } }),
  });
  for (const { proxy } of running) proxy.rage(true);
  const plan = planOperations({ objects, durationMs, seed });
  console.log(`${objects} objects, ${plan.length} writes in ${values.minutes} minutes, seed ${seed}`);
  const early = sleep(Math.min(60_000, durationMs / 2)).then(() => Promise.all(running.map(({ memory }) => memory())));
  await runOperations(plan, write);
  for (const { proxy } of running) proxy.rage(false);

  const calmAt = performance.now();
  const rows = await Promise.all(
    running.map(async (subject, index) => {
      const late = () => performance.now() - calmAt;
      let verdict = judge(truth, await subject.sightings());
      while (verdict.wrong.length > 0 && late() < SETTLE_MS) {
        await sleep(500);
        verdict = judge(truth, await subject.sightings());
      }
      const memory = [(await early)[index], await subject.memory()].filter((one) => one !== undefined);
      const lateMs = verdict.wrong.length === 0 ? late() : undefined;
      return row(subject.title, verdict, lateMs, subject.proxy.counts(), memory);
    }),
  );
  console.log(
    `${truth.versions.size} versions written, ${truth.deleted.size} objects deleted, ${truth.alive.size} left`,
  );
  for (const { informer, ...figures } of rows) console.log(`${informer}: ${JSON.stringify(figures)}`);
  console.table(rows, [
    "informer",
    "objects wrong",
    "last versions missed",
    "deletions missed",
    "versions passed over",
  ]);
  for (const { title, proxy } of running) console.log(`${title}: ${JSON.stringify(proxy.counts())}`);
  await Promise.all(running.map(({ stop }) => stop()));
} finally {
  await client.close();
  await controlPlane.stop();
}
