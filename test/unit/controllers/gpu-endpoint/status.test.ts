import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { GpuEndpointStatus } from "../../../../src/api/v1alpha1/gpu-endpoint.ts";
import { PENDING_STATUS } from "../../../../src/api/v1alpha1/meta.ts";
import type { Outcome } from "../../../../src/controllers/gpu-endpoint/conditions.ts";
import { statusOf } from "../../../../src/controllers/gpu-endpoint/status.ts";
import type { EndpointRecord } from "../../../../src/provider/endpoints/endpoint-record.ts";
import { endpointOf } from "../../../support/endpoints.ts";
import { START } from "../../../support/fake-clock.ts";
import {
  drifted,
  ENDPOINT_STATES,
  endpointAfter,
  outcome,
  recordFor,
  remote,
  serving,
} from "../../../support/golden/endpoints.ts";
import { contractBreach, shown, shows } from "../../../support/kstatus.ts";

const early = "2026-02-28T23:00:00Z";
const now = "2026-03-01T00:00:00Z";

describe("conditions", () => {
  it.each(ENDPOINT_STATES)("%s", (_name, before, part, expected) => {
    const after = endpointAfter(before, part);
    expect(shows(after)).toBe(expected);
    expect(contractBreach(after.status.conditions)).toBe("");
  });

  it("show no environment value that the remote's words quote, unless the spec has it in plain text", () => {
    const envs = [
      { key: "TOKEN", value: "s3cr3t" },
      { key: "PORT", value: "8000" },
    ];
    const record = recordFor({ envs, ...remote("failed", "s3cr3t", "s3cr3t is refused on port 8000") });
    const { status } = endpointAfter(serving, { record }, { env: [{ name: "PORT", value: "8000" }] });
    expect(JSON.stringify(status)).not.toContain("s3cr3t");
    expect(status.remote?.message).toBe("(hidden) is refused on port 8000");
  });

  it("show each worker, and an address of a log that is signed anew changes nothing", () => {
    const worker = (id: string, log: string) => ({
      id,
      status: { status: "ready", error: "", message: "" },
      log,
      healthy: true,
      draining: undefined,
    });
    const first = endpointAfter(serving, {
      record: recordFor({ workers: [worker("b", "https://logs.example.com/b?sign=1"), worker("a", "")] }),
    }).status;
    expect(first.workers?.items).toEqual([
      { id: "a", status: "ready", healthy: true },
      { id: "b", status: "ready", healthy: true, log: "https://logs.example.com/b?sign=1" },
    ]);
    const record = recordFor({ workers: [worker("a", ""), worker("b", "https://logs.example.com/b?sign=2")] });
    expect(endpointAfter(first, { record }).status.workers).toEqual(first.workers);
  });

  it("of an endpoint that another object is bound to keep nothing that was read of it", () => {
    const { status: seen } = endpointAfter(serving, {
      record: recordFor({ ownerID: "owner", regionID: "region", memberID: "member", createdAt: 1, workers: [] }),
      differences: [drifted],
    });
    const verdict = { kind: "Stalled", reason: "AlreadyBound", message: "bound to another" } as const;
    const { conditions, ...rest } = endpointAfter(seen, { verdict, alreadyBound: true }).status;
    const lastChange = { generation: 2, observedTime: "2026-03-01T00:00:00.000Z" };
    expect(rest).toEqual({ endpointID: "ep-1", observedGeneration: 2, selector: expect.any(String), lastChange });
    expect(shown(conditions)).toEqual(["Ready=False/AlreadyBound", "Stalled=True/AlreadyBound"]);
  });

  it("of a generation that is not applied show what it waits for now", () => {
    const condition = { type: "Synced", status: "Unknown", lastTransitionTime: early, observedGeneration: 2 } as const;
    const before = { ...serving, conditions: [{ ...condition, reason: "Creating", message: "looking for app name" }] };
    const verdict = { kind: "Waiting", reason: "RateLimited", message: "the service answered 429" } as const;
    const { conditions } = endpointAfter(before, { verdict }).status;
    const synced = conditions.find(({ type }) => type === "Synced");
    expect(synced).toMatchObject({
      reason: "RateLimited",
      message: expect.stringMatching(/the service answered 429$/),
    });
  });

  it("that stay keep their time, and those that turn get a new one", () => {
    const { conditions } = endpointAfter(serving, { record: recordFor({}), differences: [drifted] }).status;
    const times = conditions.map(({ type, lastTransitionTime }) => [type, lastTransitionTime]);
    expect(times).toEqual([
      ["Ready", early],
      ["Synced", now],
    ]);
  });

  it("all carry the generation that was acted upon", () => {
    const { status } = endpointAfter(PENDING_STATUS, { record: recordFor({}) });
    expect([
      status.observedGeneration,
      ...status.conditions.map(({ observedGeneration }) => observedGeneration),
    ]).toEqual([2, 2, 2]);
  });

  it("tell the service's own words of an error", () => {
    const { conditions } = endpointAfter(PENDING_STATUS, {
      record: recordFor(remote("error", "IMAGE_PULL", "no such image")),
    }).status;
    expect(conditions[0]?.message).toBe("The service reports IMAGE_PULL: no such image");
  });

  it("keep the contract whatever came before and whatever comes", () => {
    const reasons = fc.constantFrom("RateLimited", "AppNameTaken", "Unreachable", "RemoteMissing" as const);
    const part = fc.record(
      {
        record: fc.constantFrom(recordFor({}), recordFor(remote("x")), recordFor(remote("running", "E"))),
        differences: fc.boolean().map((differs) => (differs ? [drifted] : [])),
        fighting: fc.boolean(),
        verdict: fc.oneof(
          reasons.map((reason) => ({ kind: "Stalled" as const, reason, message: "m" })),
          reasons.map((reason) => ({ kind: "Waiting" as const, reason, message: "m" })),
          reasons.map((reason) => ({ kind: "Retry" as const, reason, message: "m", error: new Error("m") })),
        ),
        outdated: fc.boolean(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(part, fc.boolean()), { minLength: 1, maxLength: 6 }), (parts) => {
        let status: GpuEndpointStatus | undefined = { ...PENDING_STATUS, lastAppliedTime: now };
        for (const [one, suspend] of parts) {
          status = endpointAfter(status, one, { suspend }).status;
          expect(contractBreach(status.conditions)).toBe("");
        }
      }),
    );
  });
});

describe("a suspended endpoint", () => {
  const stopped = (change: Partial<EndpointRecord>) => ({ record: recordFor(change, { suspend: true }) });
  const worker: EndpointRecord["workers"][number] = {
    id: "w-1",
    status: { status: "ready", error: "", message: "" },
    log: "",
    healthy: true,
    draining: true,
  };

  it.each<[string, GpuEndpointStatus, boolean, Partial<Outcome>, string | undefined]>([
    ["is stopped when no worker is there", PENDING_STATUS, true, stopped({}), "Stopped=True/Stopped"],
    [
      "is not stopped while a worker runs",
      PENDING_STATUS,
      true,
      stopped({ workers: [worker] }),
      "Stopped=False/Suspended",
    ],
    [
      "is not stopped before the remote took 0/0",
      PENDING_STATUS,
      true,
      { record: recordFor({}) },
      "Stopped=False/Suspended",
    ],
    ["says nothing of it when it was not seen", PENDING_STATUS, true, {}, undefined],
    ["says nothing of it when it never was suspended", PENDING_STATUS, false, { record: recordFor({}) }, undefined],
  ])("%s", (_name, before, suspend, part, expected) => {
    const { conditions } = endpointAfter(before, part, { suspend }).status;
    expect(shown(conditions).find((one) => one.startsWith("Stopped"))).toBe(expected);
  });

  it("is resumed", () => {
    const suspended = endpointAfter(PENDING_STATUS, stopped({}), { suspend: true }).status;
    expect(shown(endpointAfter(suspended, { record: recordFor({}) }).status.conditions)).toContain(
      "Stopped=False/Resumed",
    );
  });
});

describe("the rest of the status", () => {
  const worker = (status: string, healthy: boolean | undefined, draining: boolean | undefined) => ({
    id: status,
    status: { status, error: "", message: "" },
    log: "",
    healthy,
    draining,
  });

  it("shows the remote as it is", () => {
    const record = recordFor({
      ...remote("running", "", "all well"),
      workers: [worker("ready", true, false), worker("running", true, true), worker("starting", undefined, undefined)],
      regionID: "eu",
      createdAt: 1_772_323_200,
    });
    expect(endpointAfter(PENDING_STATUS, { record }).status).toMatchObject({
      endpointID: "ep-1",
      url: "https://ep-1.example.com",
      remote: { status: "running", message: "all well" },
      workers: { total: 3, ready: 2, healthy: 2, draining: 1 },
      regionID: "eu",
      createdAt: "2026-03-01T00:00:00Z",
    });
  });

  it("lists drift, without inner fields, and clears it when it is gone", () => {
    const before = endpointAfter(serving, { record: recordFor({}), differences: [drifted] }).status;
    expect(before.drift).toEqual([{ field: "image", desired: "a:1", observed: "b:2" }]);
    expect(endpointAfter(before, { record: recordFor({}) }).status).not.toHaveProperty("drift");
  });

  it("keeps what was known when the remote was not seen", () => {
    const before = endpointAfter(serving, { record: recordFor({}), differences: [drifted] }).status;
    const verdict = { kind: "Retry", reason: "Unreachable", message: "", error: new Error("unreachable") } as const;
    const after = endpointAfter(before, { verdict, outdated: true }).status;
    expect(after).toMatchObject({
      drift: before.drift,
      url: before.url,
      workers: before.workers,
      remote: before.remote,
    });
  });

  it("does not change when nothing did", () => {
    const once = endpointAfter(PENDING_STATUS, { record: recordFor({}) }).status;
    expect(endpointAfter(once, { record: recordFor({}) }).status).toEqual(once);
  });

  it("echoes a request to reconcile", () => {
    const update = { written: {}, outcome: outcome({}) };
    expect(statusOf(endpointOf(), { ...update, requested: "2026-03-01" }, START)).toMatchObject({
      lastHandledReconcileAt: "2026-03-01",
    });
    const continued = { ...update, outcome: { ...update.outcome, continues: true }, requested: "2026-03-01" };
    expect(statusOf(endpointOf(), continued, START)).not.toHaveProperty("lastHandledReconcileAt");
    const unrequested = statusOf(endpointOf(), { ...update, requested: undefined }, START);
    expect(unrequested).not.toHaveProperty("lastHandledReconcileAt");
  });
});
