import type { KubernetesObject, V1Condition } from "@kubernetes/client-node";

/** As in JSON: times are text. */
type Condition = Omit<V1Condition, "lastTransitionTime"> & { lastTransitionTime: string };

type Status = {
  account: { baseURL: string; kind: string; name: string };
  appName: string;
  appliedGeneration: number;
  createdAt: string;
  image: string;
  lastAppliedTime: string;
  lastChange: {
    generation: number;
    acceptedTime: string;
    observedTime: string;
    readyTime: string;
    sentTime: string;
    syncedTime: string;
  };
  state: string;
  remote: { status: string };
  selector: string;
  submission: { attempt: number; id: string; specHash: string; state: string; time: string };
  type: string;
  workers: { draining: number; healthy: number; ready: number; total: number };
  endpointID: string;
  url: string;
  observedGeneration: number;
  conditions: Condition[];
};

export type GpuEndpoint = KubernetesObject & { spec: Record<string, unknown>; status?: Partial<Status> };

const CONDITIONS = [
  { type: "Synced", status: "True", reason: "InSync", message: "The remote equals the spec" },
  { type: "Ready", status: "True", reason: "Serving", message: "The remote endpoint is running" },
];

/** What exists at the remote service. */
export type RemoteEndpoint = { baseURL: string; id: string; url: string };

/** The status of an endpoint that runs: as large as that of the other peers. What it has already stays. */
export function statusOf({ metadata, status }: GpuEndpoint, { baseURL, id, url }: RemoteEndpoint): Status {
  const { name = "", uid = "", generation = 0 } = metadata ?? {};
  const milli = new Date().toISOString();
  const now = milli.replace(/\.\d+Z$/, "Z");
  return {
    account: { baseURL, kind: "Account", name: "default" },
    appName: `${name}-539110b65c`,
    appliedGeneration: generation,
    createdAt: now,
    image: "registry.example.com/models/echo:1.0",
    lastAppliedTime: now,
    lastChange: {
      generation,
      acceptedTime: milli,
      observedTime: milli,
      readyTime: milli,
      sentTime: milli,
      syncedTime: milli,
    },
    state: "running",
    remote: { status: "running" },
    selector: `mooring.dev/endpoint=${uid}`,
    submission: { attempt: 1, id: uid, specHash: "cfc674597ff16226", state: "Accepted", time: now },
    type: "sync",
    workers: { draining: 0, healthy: 0, ready: 0, total: 0 },
    ...status,
    endpointID: id,
    url,
    observedGeneration: generation,
    conditions: CONDITIONS.map((condition) => {
      const present = status?.conditions?.find(({ type }) => type === condition.type);
      const lastTransitionTime = present?.status === condition.status ? present.lastTransitionTime : now;
      return { ...condition, observedGeneration: generation, lastTransitionTime };
    }),
  };
}
