import { onTestFinished } from "vitest";
import { clusterAccountResource, videoJobResource } from "../../src/api/v1alpha1/kinds.ts";
import { namespaceResource } from "../../src/kube/resource.ts";
import { manifest } from "../support/manifests.ts";
import type { AnyObject } from "../support/world.ts";
import { EPOCH_MS } from "./engine/process-clock.ts";
import { createStage, type Hooks, type Stage } from "./stage/stage.ts";

const accountRef = { kind: "ClusterAccount", name: "shared" };

/** A paid request that the service accepted. Times in ms since the beginning. */
export type Start = { team: string; job: string; at: number; endsAt: number };

type Team = { name: string; share?: object };

/** A ClusterAccount with a share for each team, whose namespace has the team's name. */
export async function sharedWorld(
  teams: readonly Team[],
  account: object,
  videoTaskMs: [number, number] = [50_000, 70_000],
) {
  const stage = await createStage({ account: null, simulator: { queueMs: [1_000, 5_000], videoTaskMs } });
  onTestFinished(stage.end);
  const { kube, service, scheduler } = stage;
  for (const { name } of teams) {
    await kube.create(namespaceResource, {}, { metadata: { name, labels: { team: name } }, spec: {} });
  }
  await kube.create(
    clusterAccountResource,
    {},
    {
      apiVersion: "mooring.dev/v1alpha1",
      kind: "ClusterAccount",
      metadata: { name: "shared" },
      spec: {
        baseURL: "http://service.invalid",
        apiKeySecretRef: { namespace: stage.namespace, name: "key", key: "apiKey" },
        rateLimit: { requestsPerSecond: 50, burst: 50 },
        billing: { interval: "60s" },
        shares: teams.map(({ name, share }) => ({
          name,
          namespaceSelector: { matchLabels: { team: name } },
          ...share,
        })),
        ...account,
      },
    },
  );
  const starts: Start[] = [];
  const hooks: Hooks = {
    service: (of) => ({
      call: async (request) => {
        const answer = await of.call(request);
        const { prompt } = (request.body ?? {}) as { prompt?: string };
        if (answer.effect === "TaskSubmitted" && answer.id !== undefined && prompt !== undefined) {
          const [team = "", job = ""] = prompt.split("/");
          const endsAt = service.tasks.get(answer.id).endsAtMs - EPOCH_MS;
          starts.push({ team, job, at: scheduler.now(), endsAt });
        }
        return answer;
      },
    }),
  };
  return { stage, starts, start: () => stage.start(hooks) };
}

export async function submit({ kube }: Stage, team: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const imageToVideo = { prompt: `${team}/${name}` };
    const { spec, ...job } = manifest("image", { accountRef, imageToVideo }, name);
    await kube.create<AnyObject>(
      videoJobResource,
      { namespace: team },
      { ...job, spec, metadata: { name, namespace: team } },
    );
  }
}
