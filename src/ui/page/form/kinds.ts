import type { KindForm } from "./kind-form.ts";
import { mediaBatchForm } from "./media-batch.ts";
import { speechJobForm } from "./speech-job.ts";
import { videoJobForm } from "./video-job.ts";

/** Kinds that people create by hand. A kind without an entry has its required fields first. */
const FORMS: readonly KindForm[] = [
  speechJobForm,
  videoJobForm,
  mediaBatchForm,
  {
    kind: "GpuEndpoint",
    title: "Run an endpoint",
    first: [],
    initial: {
      port: 8000,
      workers: { min: 0, max: 1, idleTimeoutSeconds: 300, maxConcurrency: 1, gpus: 1, requestTimeoutSeconds: 600 },
      policy: { type: "queue", value: 15 },
      healthCheck: { path: "/health" },
    },
    effect: "Mooring creates an endpoint at the service. Its workers cost money while they run.",
  },
  {
    kind: "BillReport",
    title: "Report bills",
    first: ["period", "lastDays", "startTime", "endTime", "splitBy"],
    initial: { period: "LastMonth", splitBy: "Namespace" },
    effect: "Mooring reads the bills of the account, and again until they are final.",
  },
];

export const CREATED_KINDS: readonly string[] = FORMS.map(({ kind }) => kind);

export function formOf(kind: string): KindForm {
  return FORMS.find((form) => form.kind === kind) ?? { kind, title: kind, first: [], initial: {}, effect: "" };
}
