import { isTrue } from "../../src/api/v1alpha1/conditions.ts";
import type { GpuEndpoint } from "../../src/api/v1alpha1/gpu-endpoint.ts";
import { gpuEndpointResource, speechJobResource, videoJobResource } from "../../src/api/v1alpha1/kinds.ts";
import type { SpeechJob } from "../../src/api/v1alpha1/speech-job.ts";
import type { VideoJob } from "../../src/api/v1alpha1/video-job.ts";
import type { KubeClient } from "../../src/kube/client.ts";
import type { Condition } from "../../src/kube/types.ts";

/** What the demo shows of one object. */
export type Row = {
  kind: string;
  name: string;
  /** Status of the condition Ready. */
  ready: string;
  /** A word or two: the remote's state and workers, or the job's phase. */
  state: string;
  /** How far a running task is, such as `40 %`. */
  progress: string;
  /** Reason and message of Ready. */
  reason: string;
  message: string;
  /** As its spec says: an endpoint serves or is stopped on purpose, a job is complete. */
  converged: boolean;
  /** A person would have to act. */
  stalled: boolean;
  /** Where results can be fetched. */
  results: string[];
};

/** The objects of the three main kinds in a namespace, by kind and name. */
export async function readRows(kube: KubeClient, namespace: string, signal: AbortSignal): Promise<Row[]> {
  const [endpoints, speech, video] = await Promise.all([
    kube.list<GpuEndpoint>(gpuEndpointResource, { namespace }, { signal }),
    kube.list<SpeechJob>(speechJobResource, { namespace }, { signal }),
    kube.list<VideoJob>(videoJobResource, { namespace }, { signal }),
  ]);
  return [
    ...endpoints.items.map(endpointRow),
    ...speech.items.map((job) => jobRow("SpeechJob", job)),
    ...video.items.map((job) => jobRow("VideoJob", job)),
  ];
}

function endpointRow({ metadata, spec, status }: GpuEndpoint): Row {
  const remote = status?.remote?.status ?? (status?.endpointID === undefined ? "-" : "created");
  const ready = status?.workers?.ready;
  const workers = ready === undefined ? "" : `, ${ready} of ${spec.workers.max} workers`;
  const state = `${remote}${spec.suspend ? ", suspended" : workers}`;
  return {
    ...common("GpuEndpoint", metadata.name, status?.conditions),
    state,
    progress: "",
    converged: isTrue(status?.conditions, "Ready"),
    results: [],
  };
}

function jobRow(kind: string, { metadata, status }: SpeechJob | VideoJob): Row {
  const running = status?.phase === "Running" && status.progressPercent !== undefined;
  return {
    ...common(kind, metadata.name, status?.conditions),
    state: status?.phase ?? "-",
    progress: running ? `${status.progressPercent} %` : "",
    converged: isTrue(status?.conditions, "Complete"),
    results: (status?.results ?? []).flatMap(({ url }) => (url === undefined ? [] : [url])),
  };
}

function common(kind: string, name: string, conditions: readonly Condition[] | undefined) {
  const ready = conditions?.find(({ type }) => type === "Ready");
  return {
    kind,
    name,
    ready: ready?.status ?? "-",
    reason: ready?.reason ?? "-",
    message: ready?.message ?? "",
    stalled: isTrue(conditions, "Stalled"),
  };
}
