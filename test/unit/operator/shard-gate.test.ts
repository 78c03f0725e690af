import { expect, it } from "vitest";
import { videoJobResource } from "../../../src/api/v1alpha1/kinds.ts";
import type { VideoJob, VideoJobStatus } from "../../../src/api/v1alpha1/video-job.ts";
import type { KubeObject } from "../../../src/kube/types.ts";
import { createOwnership } from "../../../src/operator/ownership.ts";
import { shardOf } from "../../../src/operator/shard.ts";
import { whileOwned } from "../../../src/operator/shard-gate.ts";
import { createStore } from "../../../src/runtime/store.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { videoJobOf } from "../../support/jobs.ts";
import { intent } from "../../support/journal.ts";
import type { Change } from "../../support/manifests.ts";
import { silentLog } from "../../support/scripted-api-server.ts";

const NAMESPACE_DEFAULT = "Account/team/default";
const other = Array.from({ length: 20 }, (_, index) => `other-${index}`).find(
  (name) => shardOf(`ClusterAccount/${name}`, 2) !== shardOf(NAMESPACE_DEFAULT, 2),
);
const account = { kind: "ClusterAccount", name: other ?? "", baseURL: "https://api.example.com" } as const;
const submission = { id: "one", specHash: "0", attempt: 1, journal: "own", time: "2026-03-01T00:00:00Z" } as const;
const intended: Partial<VideoJobStatus> = {
  account,
  phase: "Submitting",
  submission: { ...submission, state: "Intended" },
};

type Options = {
  shard: "OfDefault" | "OfStatus";
  status?: Partial<VideoJobStatus>;
  committed?: boolean;
  running?: boolean;
  spec?: Change;
};

/** What the process of a shard does with a job, without accountRef unless its spec has one, in a namespace with an Account `default`. */
async function run({ shard, status, committed = false, running = false, spec = {} }: Options) {
  const store = createStore<KubeObject>();
  const job: VideoJob = videoJobOf("image", spec, status && { conditions: [], ...status });
  store.upsert(job);
  const index = shardOf(shard === "OfDefault" ? NAMESPACE_DEFAULT : `ClusterAccount/${other}`, 2);
  let reconciled = false;
  const written: unknown[] = [];
  const gate = {
    ownership: createOwnership({ index, count: 2 }, (key) => key === NAMESPACE_DEFAULT || key.endsWith(account.name)),
    row: { resource: videoJobResource, account: "Needs" } as const,
    journal: {
      covers: (_uid: string, id: string | undefined) => id === "own",
      find: () => (committed ? intent("one") : undefined),
    },
    isRunning: () => running,
    clock: createFakeClock(),
  };
  const kind = {
    store,
    async patchStatus(object: KubeObject, next: unknown) {
      written.push(next);
      return object;
    },
  };
  const reconcile = whileOwned(gate, kind, async () => {
    reconciled = true;
    return undefined;
  });
  const key = `${job.metadata.namespace}/${job.metadata.name}`;
  const request = { key, namespace: job.metadata.namespace, name: job.metadata.name };
  await reconcile(request, { signal: new AbortController().signal, log: silentLog });
  return { reconciled, written };
}

it.each<Options & { name: string; expected: boolean }>([
  { name: "a new job, by the shard of its account", shard: "OfDefault", expected: true },
  { name: "not a new job of another shard", shard: "OfStatus", expected: false },
  {
    name: "a job whose request is in the journal",
    shard: "OfStatus",
    status: intended,
    committed: true,
    expected: true,
  },
  { name: "a job whose request waits to be sent", shard: "OfStatus", status: intended, running: true, expected: true },
  { name: "not a job whose request is at the other shard", shard: "OfDefault", status: intended, expected: false },
  {
    name: "a job whose request was recorded by a journal that is lost",
    shard: "OfStatus",
    status: { ...intended, submission: { ...submission, journal: "lost", state: "Intended" } },
    expected: true,
  },
])("reconciles $name", async ({ expected, ...options }) => {
  expect(await run(options)).toEqual({ reconciled: expected, written: [] });
});

it("gives a job to the shard of the account that a user names, when the intent that the status shows was not sent", async () => {
  const spec = { accountRef: { kind: "Account", name: "default" } };
  const { reconciled, written } = await run({ shard: "OfStatus", status: intended, spec });
  expect(reconciled).toBe(false);
  expect(written).toMatchObject([{ phase: "Pending", account, submission: { id: "one", state: "NotSent" } }]);
});
