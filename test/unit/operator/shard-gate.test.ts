import { expect, it } from "vitest";
import { videoJobResource } from "../../../src/api/v1alpha1/kinds.ts";
import type { VideoJob, VideoJobStatus } from "../../../src/api/v1alpha1/video-job.ts";
import type { KubeObject } from "../../../src/kube/types.ts";
import { createOwnership } from "../../../src/operator/ownership.ts";
import { shardOf } from "../../../src/operator/shard.ts";
import { whileOwned } from "../../../src/operator/shard-gate.ts";
import { createStore } from "../../../src/runtime/store.ts";
import { videoJobOf } from "../../support/jobs.ts";
import { silentLog } from "../../support/scripted-api-server.ts";

const NAMESPACE_DEFAULT = "Account/team/default";
const other = Array.from({ length: 20 }, (_, index) => `other-${index}`).find(
  (name) => shardOf(`ClusterAccount/${name}`, 2) !== shardOf(NAMESPACE_DEFAULT, 2),
);
const account = { kind: "ClusterAccount", name: other ?? "", baseURL: "https://api.example.com" } as const;
const submission = { id: "one", specHash: "0", attempt: 1, sender: "p", time: "2026-03-01T00:00:00Z" } as const;
const intended: Partial<VideoJobStatus> = {
  account,
  phase: "Pending",
  submission: { ...submission, state: "Intended" },
};

type Options = { shard: "OfDefault" | "OfStatus"; status?: Partial<VideoJobStatus> | undefined };

/** Whether the process of a shard reconciles a job without accountRef, in a namespace with an Account `default`. */
async function isReconciled({ shard, status }: Options): Promise<boolean> {
  const store = createStore<KubeObject>();
  const job: VideoJob = videoJobOf("image", {}, status && { conditions: [], ...status });
  store.upsert(job);
  const index = shardOf(shard === "OfDefault" ? NAMESPACE_DEFAULT : `ClusterAccount/${other}`, 2);
  const gate = {
    ownership: createOwnership({ index, count: 2 }, (key) => key === NAMESPACE_DEFAULT || key.endsWith(account.name)),
    row: { resource: videoJobResource, account: "Needs" } as const,
  };
  let reconciled = false;
  const reconcile = whileOwned(gate, { store }, async () => {
    reconciled = true;
    return undefined;
  });
  const { namespace, name } = job.metadata;
  await reconcile(
    { key: `${namespace}/${name}`, namespace, name },
    { signal: new AbortController().signal, log: silentLog },
  );
  return reconciled;
}

it.each<Options & { name: string; expected: boolean }>([
  { name: "a new job, by the shard of its account", shard: "OfDefault", expected: true },
  { name: "not a new job of another shard", shard: "OfStatus", expected: false },
  { name: "a job whose request is recorded", shard: "OfStatus", status: intended, expected: true },
  { name: "not a job whose request is at the other shard", shard: "OfDefault", status: intended, expected: false },
])("reconciles $name", async ({ expected, shard, status }) => {
  expect(await isReconciled({ shard, status })).toBe(expected);
});
