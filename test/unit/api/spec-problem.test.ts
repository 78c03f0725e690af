import { expect, it } from "vitest";
import { specProblem } from "../../../src/api/manifest/spec-problem.ts";
import {
  accountResource,
  billReportResource,
  gpuEndpointResource,
  videoJobResource,
} from "../../../src/api/v1alpha1/kinds.ts";

const ENDPOINT = {
  products: [{ id: "gpu-4090-24g" }],
  image: "registry.example.com/echo:1.0",
  port: 8000,
  workers: { min: 1, max: 2, idleTimeoutSeconds: 60, maxConcurrency: 4, gpus: 1, requestTimeoutSeconds: 120 },
  policy: { type: "queue", value: 30 },
  healthCheck: { path: "/health" },
};
const ACCOUNT = { baseURL: "https://service.example.com", apiKeySecretRef: { name: "key", key: "apiKey" } };
const IMAGE = { prompt: "Waves", imageURL: "https://images.example.com/sea.png" };

it.each([
  { what: "an endpoint", resource: gpuEndpointResource, spec: ENDPOINT, problem: undefined },
  {
    what: "a field of a later version",
    resource: gpuEndpointResource,
    spec: { ...ENDPOINT, later: true },
    problem: undefined,
  },
  {
    what: "a rule on two fields",
    resource: gpuEndpointResource,
    spec: { ...ENDPOINT, workers: { ...ENDPOINT.workers, min: 3 } },
    problem: "spec.workers.min: workers.min must not be above workers.max: lower min or raise max",
  },
  {
    what: "a duration that is none",
    resource: accountResource,
    spec: { ...ACCOUNT, requestTimeout: "soon" },
    problem: "spec.requestTimeout: must be a Go duration above 0, such as 500ms, 30s, 5m or 24h",
  },
  {
    what: "a rule on the whole spec",
    resource: videoJobResource,
    spec: { imageToVideo: IMAGE, videoToVideo: { input: {} } },
    problem: "spec: exactly one of imageToVideo and videoToVideo is required: set one, remove the other",
  },
  {
    what: "a missing field",
    resource: accountResource,
    spec: { baseURL: ACCOUNT.baseURL },
    problem: "spec.apiKeySecretRef: is missing",
  },
  {
    what: "more problems than one message lists",
    resource: billReportResource,
    spec: { cycle: "Year", lastDays: 0, refreshInterval: "a", category: "" },
    problem: expect.stringMatching(/^spec\.cycle: .+; spec\.lastDays: .+; spec\..+; and 1 more$/),
  },
])("$what: the problem of a stored spec names its field", ({ resource, spec, problem }) => {
  expect(specProblem(resource, spec)).toEqual(problem);
  expect(specProblem(resource, spec)).toEqual(problem);
});
