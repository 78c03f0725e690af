import { describe, expect, it } from "vitest";
import type { GpuEndpoint, GpuEndpointStatus } from "../../../../../src/api/v1alpha1/gpu-endpoint.ts";
import { planOf } from "../../../../../src/cli/use/plan/endpoint-plan.ts";
import type { PlannedAction } from "../../../../../src/cli/use/plan/planned.ts";
import { exitCodeOf, plannedJob, rendered } from "../../../../../src/cli/use/plan.ts";
import type { KubeClient } from "../../../../../src/kube/client.ts";
import { KubeError } from "../../../../../src/kube/errors.ts";
import type { EndpointRecord } from "../../../../../src/provider/endpoints/endpoint-record.ts";
import type { Endpoints } from "../../../../../src/provider/types.ts";
import { createStore } from "../../../../../src/runtime/store.ts";
import { desiredOf, endpointOf, recordOf } from "../../../../support/endpoints.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";
import { speechJobOf, videoJobOf } from "../../../../support/jobs.ts";
import type { Change } from "../../../../support/manifests.ts";
import { memoryKube } from "../../../../support/memory-kube.ts";
import { accountAt } from "../../../../support/service-account.ts";

const baseURL = "http://127.0.0.1:1";
const status: GpuEndpointStatus = {
  conditions: [],
  endpointID: "ep-1",
  appName: "echo-1",
  appliedGeneration: 2,
  account: { kind: "Account", name: "default", baseURL },
};
const live = (change: Change = {}, more: Partial<GpuEndpointStatus> = {}) =>
  endpointOf({ appName: "echo-1", ...change }, { status: { ...status, ...more } });

/** The plan of an apply that changes `before` to `after`, while the service shows `remote`. */
function plan(
  after: GpuEndpoint,
  before: GpuEndpoint | undefined,
  remote: EndpointRecord | undefined,
  kube: KubeClient = memoryKube(createStore<GpuEndpoint>()).client,
) {
  const endpoints: Partial<Endpoints> = {
    read: async () => remote,
    find: async () => (remote === undefined ? [] : [remote]),
    limits: () => undefined,
  };
  const session = accountAt(baseURL, { probe: async () => ({}) as never });
  const account = { ...session, endpoints: { ...session.endpoints, ...endpoints } };
  return planOf(
    {
      kube,
      clock: createFakeClock(),
      signal: new AbortController().signal,
      account: async () => ({ ref: { kind: "Account", name: "default" }, session: account }),
    },
    after,
    before,
  );
}

const forbiddenKube: KubeClient = {
  ...memoryKube(createStore<GpuEndpoint>()).client,
  get: async () => {
    throw new KubeError("no", { status: 403, reason: "Forbidden" });
  },
};

const remote = (change: Change = {}, record: Partial<EndpointRecord> = {}) => recordOf(desiredOf(live(change)), record);

describe("given an endpoint, an apply", () => {
  it("of the same manifest changes nothing", async () => {
    expect(await plan(live(), live(), remote())).toEqual({
      action: "None",
      endpointID: "ep-1",
      message: "no change",
      changes: [],
    });
  });

  it("of another image and number of workers updates these fields, each with both values", async () => {
    const after = live({ image: "registry.example.com/echo:2", workers: { max: 9 } });
    const before = live();
    expect(await plan(after, before, remote())).toMatchObject({
      action: "Update",
      message: "update endpoint ep-1",
      changes: [
        { field: "image", before: before.spec.image, after: "registry.example.com/echo:2" },
        { field: "workers.max", before: String(before.spec.workers.max), after: "9" },
      ],
    });
  });

  it("shows the values of the service, which another client has changed", async () => {
    const changed = remote({}, { image: "registry.example.com/other:1" });
    expect(await plan(live(), live(), changed)).toMatchObject({
      action: "Update",
      changes: [{ field: "image", before: "registry.example.com/other:1" }],
    });
    const reported = live({ driftPolicy: "Report" });
    expect(await plan(reported, reported, changed)).toMatchObject({
      action: "None",
      message: "no change: Mooring leaves image as they are at the service",
    });
  });

  it("never shows the value of a variable", async () => {
    const after = live({ env: [{ name: "TOKEN", value: "new-secret" }] });
    const shown = remote({}, { envs: [{ key: "TOKEN", value: "old-secret" }] });
    const result = await plan(after, live(), shown);
    expect(result.changes).toEqual([{ field: "env", before: "TOKEN=(hidden)", after: "TOKEN=(hidden)" }]);
    expect(JSON.stringify(result)).not.toContain("secret");
  });

  it.each<[string, Change, Partial<GpuEndpointStatus>, "Blocked" | "Conflict", RegExp]>([
    [
      "a variable from a missing Secret",
      { env: [{ name: "T", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }] },
      {},
      "Blocked",
      /^SecretNotFound/,
    ],
    [
      "another base URL than the bound one",
      {},
      { account: { kind: "Account", name: "default", baseURL: "https://old.example.com" } },
      "Conflict",
      /^AccountMismatch: Account default has spec\.baseURL/,
    ],
    [
      "a create with an unknown outcome",
      {},
      {
        endpointID: undefined,
        submission: { id: "i", specHash: "0", attempt: 1, state: "Intended", time: "2026-03-01T00:00:00Z" },
      },
      "Blocked",
      /outcome of a create/,
    ],
  ])("with %s is not done", async (_name, change, more, action, message) => {
    const result = await plan(live(change), live({}, more), remote());
    expect(result).toMatchObject({ action, message: expect.stringMatching(message) });
  });

  it("with a Secret that the user may not read is an error about the user's rights", async () => {
    const env = [{ name: "T", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }];
    await expect(plan(live({ env }), live(), remote(), forbiddenKube)).rejects.toThrow(/^you may not read a Secret/);
  });

  it("of a paused object changes nothing", async () => {
    const paused = live({ image: "registry.example.com/echo:2" });
    paused.metadata.annotations = { "mooring.dev/paused": "true" };
    expect(await plan(paused, live(), remote())).toMatchObject({ action: "None" });
  });

  it("of an endpoint that the service does not show creates it again", async () => {
    expect(await plan(live(), live(), undefined)).toMatchObject({ action: "Create", endpointID: "ep-1" });
  });
});

describe("given no object, an apply", () => {
  it("creates an endpoint, with every value that is sent", async () => {
    const result = await plan(endpointOf({ env: [{ name: "A", value: "b" }] }), undefined, undefined);
    expect(result.action).toBe("Create");
    const sent = new Map(result.changes.map(({ field, after }) => [field, after]));
    expect(sent.get("appName")).toBe("(generated)");
    expect(sent.get("env")).toBe("A=(hidden)");
    expect(sent.get("workers.min")).toBe(String(endpointOf().spec.workers.min));
    expect(sent.get("products")).toBe(
      endpointOf()
        .spec.products.map(({ id }) => id)
        .join(", "),
    );
  });

  it("with an app name that exists is a conflict", async () => {
    expect(await plan(endpointOf({ appName: "echo-1" }), undefined, remote())).toMatchObject({
      action: "Conflict",
      message: expect.stringMatching(/^AppNameTaken: /),
    });
  });

  it("that adopts shows what changes at the endpoint", async () => {
    const adoption = { endpointID: "ep-1", mode: "Override" };
    const after = endpointOf({ adoption, image: "registry.example.com/echo:2" });
    expect(await plan(after, undefined, remote())).toMatchObject({
      action: "Update",
      endpointID: "ep-1",
      message: "take over endpoint ep-1; update endpoint ep-1",
    });
    const match = endpointOf({ adoption: { ...adoption, mode: "Match" }, image: "registry.example.com/echo:2" });
    expect(await plan(match, undefined, remote())).toMatchObject({ action: "Conflict", changes: [] });
  });
});

describe("mooring plan", () => {
  it("a new job sends a paid request, unless it is suspended or exists", () => {
    expect(plannedJob(speechJobOf("hd"), false)).toMatchObject({
      action: "Submit",
      message: "send a paid request (submitSpeech)",
    });
    expect(plannedJob(videoJobOf("image"), true).action).toBe("None");
    expect(plannedJob(videoJobOf("image", { suspend: true }), false).action).toBe("None");
  });

  const one = (action: PlannedAction) => ({
    object: `GpuEndpoint team/${action.toLowerCase()}`,
    action,
    message: "m",
    changes: action === "Update" || action === "Create" ? [{ field: "image", before: "", after: "b" }] : [],
  });

  it.each([
    [[], 0],
    [["None"], 0],
    [["None", "Update"], 2],
    [["Submit"], 2],
    [["Create", "Conflict"], 1],
    [["Create", "Blocked"], 1],
  ] as const)("the exit code of %j is %i", (actions, code) => {
    expect(exitCodeOf(actions.map(one))).toBe(code);
  });

  it("prints a block per object and a summary", () => {
    expect(rendered([one("Update"), one("Create"), one("Blocked"), one("Conflict")], "text")).toBe(
      [
        "GpuEndpoint team/update: m",
        "  FIELD   NOW   AFTER",
        "  image   -     b",
        "",
        "GpuEndpoint team/create: m",
        "",
        "GpuEndpoint team/blocked: blocked: m",
        "",
        "GpuEndpoint team/conflict: conflict: m",
        "",
        "1 to create, 1 to update, 0 to submit, 0 unchanged, 1 blocked, 1 in conflict",
        "",
      ].join("\n"),
    );
    expect(rendered([{ ...one("Conflict"), message: "2 problems", problems: ["A: a", "B: b"] }], "text")).toContain(
      "GpuEndpoint team/conflict: conflict: 2 problems\n  A: a\n  B: b\n",
    );
    expect(rendered([{ ...one("Submit"), estimatedCost: "0.42", per: "Job" }], "text")).toContain(
      "GpuEndpoint team/submit: m; costs about 0.42 yuan\n",
    );
    expect(rendered([{ ...one("Update"), estimatedCost: "12", per: "Hour" }], "text")).toContain(
      "GpuEndpoint team/update: m; costs up to 12 yuan an hour\n",
    );
    expect(rendered([one("Create")], "wide")).toContain("  image   -     b");
    expect(rendered([one("Create"), one("None")], "name")).toBe("GpuEndpoint/team/create\n");
  });
});
