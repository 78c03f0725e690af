import { billReportResource, gpuEndpointResource, speechJobResource } from "../../../src/api/v1alpha1/kinds.ts";
import type { Resource } from "../../../src/kube/resource.ts";
import type { Json } from "../../sim/api-server/json.ts";

/** An object that uses the object of a case. */
export type Companion = { resource: Resource; name: string; spec: Json };

export const ENDPOINT: Json = {
  products: [{ id: "gpu-4090-24g" }],
  image: "registry.example.com/echo:1.0",
  port: 8000,
  workers: { min: 1, max: 1, idleTimeoutSeconds: 60, maxConcurrency: 4, gpus: 1, requestTimeoutSeconds: 120 },
  policy: { type: "queue", value: 30 },
  healthCheck: { path: "/health" },
  env: [{ name: "TOKEN", valueFrom: { secretKeyRef: { name: "values", key: "value" } } }],
};
const SPEECH: Json = { model: "speech-2.6-turbo", text: "Ahoy.", voiceSetting: { voiceID: "announcer" } };

/** An account is used by an endpoint, a job and a report, a store by a job. */
export function companionsOf(kind: string, name: string): Companion[] {
  if (kind === "ArtifactStore") {
    const output = { storeRef: { name } };
    return [{ resource: speechJobResource, name: `${name}-job`, spec: { ...SPEECH, outputFormat: "hex", output } }];
  }
  if (!kind.endsWith("Account")) return [];
  const accountRef = { kind, name };
  return [
    { resource: gpuEndpointResource, name: `${name}-endpoint`, spec: { ...ENDPOINT, accountRef } },
    { resource: speechJobResource, name: `${name}-job`, spec: { ...SPEECH, accountRef } },
    { resource: billReportResource, name: `${name}-report`, spec: { lastDays: 3, accountRef } },
  ];
}
