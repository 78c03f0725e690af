import { describe, expect, it } from "vitest";
import { desiredOf, endpointOf, recordOf } from "../../../support/endpoints.ts";
import {
  type ServiceAnswer,
  type ServiceRequest,
  scriptedService,
  sessionAt,
} from "../../../support/service-account.ts";

const signal = new AbortController().signal;

async function endpointsOf(script: (request: ServiceRequest) => ServiceAnswer) {
  const service = await scriptedService(script);
  return { ...sessionAt(service.url).endpoints, requests: service.requests };
}

describe("a search by app name", () => {
  const page = (appName: string, cursor: string): ServiceAnswer => ({
    body: { data: [{ id: `ep-${appName}`, app_name: appName }], next_cursor: cursor, has_more: cursor !== "" },
  });

  it.each<{ name: string; cursors: Record<string, string> }>([
    { name: "a cursor that does not advance", cursors: { "": "1", "1": "1" } },
    { name: "cursors that go round in a circle", cursors: { "": "1", "1": "2", "2": "1" } },
  ])("with $name proves no absence, and ends", async ({ cursors }) => {
    const endpoints = await endpointsOf(({ path }) => {
      const cursor = new URL(path, "http://service").searchParams.get("cursor") ?? "";
      return page("another", cursors[cursor] ?? "");
    });
    await expect(endpoints.find("wanted", signal)).rejects.toMatchObject({ kind: "UnreadableResponse" });
    expect(endpoints.requests).toHaveLength(Object.keys(cursors).length);
  });

  it("finds the app name on a later page, and reads all pages: another endpoint may have it too", async () => {
    const endpoints = await endpointsOf(({ path }) => {
      if (path.includes("cursor=2")) return page("b", "");
      return path.includes("cursor=1") ? page("wanted", "2") : page("a", "1");
    });
    expect(await endpoints.find("wanted", signal)).toMatchObject([{ id: "ep-wanted" }]);
    expect(endpoints.requests).toHaveLength(3);
    expect(endpoints.observed.get("ep-wanted")).toBeDefined();
  });
});

describe("details of an endpoint that the other generation does not know", () => {
  it.each<[string, ServiceAnswer]>([
    ["{endpoint: null}", { body: { endpoint: null } }],
    ["404", { status: 404, body: { code: 404, reason: "RESOURCE_NOT_FOUND", message: "no", metadata: {} } }],
  ])("by %s: the service contradicts itself, which is retried", async (_name, answer) => {
    const endpoints = await endpointsOf(() => answer);
    const record = recordOf(desiredOf(endpointOf()));
    await expect(endpoints.complete(record, "Now", signal)).rejects.toMatchObject({
      kind: "UnreadableResponse",
      message: expect.stringContaining("ep-1"),
    });
  });
});
