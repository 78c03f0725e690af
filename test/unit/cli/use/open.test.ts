import { describe, expect, it } from "vitest";
import { gpuEndpointResource, videoJobResource } from "../../../../src/api/v1alpha1/kinds.ts";
import { urlOf } from "../../../../src/cli/use/open.ts";
import type { AnyStatus } from "../../../../src/describe/object-state.ts";
import type { Resource } from "../../../../src/kube/resource.ts";
import { storedMeta } from "../../../support/stored-meta.ts";

const NOW = Date.parse("2026-03-01T00:00:00Z");
const open = (resource: Resource, status: AnyStatus & Record<string, unknown>, number = 1) =>
  urlOf(
    { resource, object: { metadata: storedMeta({ name: "sea", namespace: "team" }), spec: {}, status } },
    number,
    NOW,
  );
const job = (result: object, number?: number) =>
  open(videoJobResource, { phase: "Succeeded", results: [{ kind: "Video", ...result }] }, number);

describe("mooring open", () => {
  it("opens the URL of an endpoint, and of a result", () => {
    expect(open(gpuEndpointResource, { url: "https://echo.example.com" })).toBe("https://echo.example.com/");
    expect(job({ url: "https://files.example.com/a.mp4", expiresAt: "2026-03-02T00:00:00Z" })).toBe(
      "https://files.example.com/a.mp4",
    );
  });

  it.each([
    {
      given: "another protocol",
      open: () => job({ url: "file:///etc/passwd" }),
      says: "is not http or https: it is not opened",
    },
    { given: "no web address", open: () => open(gpuEndpointResource, { url: "calc.exe" }), says: "not http or https" },
    { given: "no URL", open: () => open(gpuEndpointResource, {}), says: "has no URL yet: mooring explain" },
    {
      given: "a job that runs",
      open: () => open(videoJobResource, { phase: "Running" }),
      says: "is Running and has no result",
    },
    {
      given: "a number without a result",
      open: () => job({ url: "https://a.example.com" }, 2),
      says: "is Succeeded and has no result 2",
    },
    {
      given: "an expired URL",
      open: () =>
        job({ url: "https://a.example.com", expiresAt: "2026-02-28T00:00:00Z", artifact: { uri: "s3://media/a" } }),
      says: "expired at 2026-02-28T00:00:00Z; a copy is at s3://media/a",
    },
    {
      given: "an address of the cluster",
      open: () => job({ url: "http://mooring-simulator.mooring-system.svc:8090/a" }),
      says: "kubectl get --raw",
    },
  ])("opens nothing for $given", ({ open: attempt, says }) => expect(attempt).toThrow(says));
});
