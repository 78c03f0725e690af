import type { GpuEndpoint, GpuEndpointStatus } from "../../../src/api/v1alpha1/gpu-endpoint.ts";
import { PENDING_STATUS } from "../../../src/api/v1alpha1/meta.ts";
import type { Outcome } from "../../../src/controllers/gpu-endpoint/conditions.ts";
import type { Difference } from "../../../src/controllers/gpu-endpoint/fields.ts";
import { statusOf } from "../../../src/controllers/gpu-endpoint/status.ts";
import type { EndpointRecord } from "../../../src/provider/endpoints/endpoint-record.ts";
import { desiredOf, endpointOf, recordOf } from "../endpoints.ts";
import { START } from "../fake-clock.ts";
import { conditionsOf } from "../kstatus.ts";
import type { Change } from "../manifests.ts";

const now = "2026-03-01T00:00:00Z";

export const remote = (status: string, error = "", message = ""): Partial<EndpointRecord> => ({
  status: { status, error, message },
});
export const recordFor = (change: Partial<EndpointRecord>, spec: Change = {}) =>
  recordOf(desiredOf(endpointOf(spec)), change);
export const drifted: Difference = { field: "image", desired: "a:1", observed: "b:2", remediable: true };
export const outcome = (part: Partial<Outcome>): Outcome => ({
  record: undefined,
  differences: [],
  fighting: false,
  verdict: { kind: "Done" },
  ...part,
});

export const serving: GpuEndpointStatus = {
  endpointID: "ep-1",
  conditions: conditionsOf("Ready=True/Serving Synced=True/InSync"),
};
const stalledBefore: GpuEndpointStatus = {
  endpointID: "ep-1",
  conditions: conditionsOf("Stalled=True/OutOfRange", serving.conditions),
};
const settling = { ...PENDING_STATUS, lastAppliedTime: now };

/** An endpoint after an outcome. */
export function endpointAfter(
  before: GpuEndpointStatus | undefined,
  part: Partial<Outcome>,
  spec: Change = {},
): GpuEndpoint & { status: GpuEndpointStatus } {
  const endpoint = endpointOf(spec, before === undefined ? {} : { status: before });
  return {
    ...endpoint,
    status: statusOf(endpoint, { written: {}, outcome: outcome(part), requested: undefined }, START),
  };
}

type EndpointRow = [name: string, before: GpuEndpointStatus | undefined, part: Partial<Outcome>, shows: string];

const stalled = { verdict: { kind: "Stalled", reason: "AppNameTaken", message: "choose another" } } as const;
const waiting = { verdict: { kind: "Waiting", reason: "RateLimited", message: "429" }, outdated: true } as const;

/** Every state of an endpoint, with what `shows` tells of it. */
export const ENDPOINT_STATES: EndpointRow[] = [
  ["a serving endpoint", PENDING_STATUS, { record: recordFor({}) }, "Current: Ready=True/Serving Synced=True/InSync"],
  [
    "one of the earlier generation",
    PENDING_STATUS,
    { record: recordFor(remote("serving")) },
    "Current: Ready=True/Serving Synced=True/InSync",
  ],
  [
    "an empty worker list at min 0",
    PENDING_STATUS,
    { record: recordFor({ workers: [] }) },
    "Current: Ready=True/Serving Synced=True/InSync",
  ],
  [
    "a remote state that nobody knows",
    PENDING_STATUS,
    { record: recordFor(remote("marinating")) },
    "InProgress: Ready=Unknown/RemoteStateUnknown Synced=True/InSync",
  ],
  [
    "a remote error",
    PENDING_STATUS,
    { record: recordFor(remote("running", "IMAGE_PULL", "no such image")) },
    "InProgress: Ready=False/RemoteError Synced=True/InSync",
  ],
  [
    "not serving yet after a write",
    settling,
    { record: recordFor(remote("deploying")) },
    "InProgress: Ready=Unknown/RemoteStateUnknown Reconciling=True/Progressing Synced=True/InSync",
  ],
  [
    "serving right after a write",
    settling,
    { record: recordFor({}) },
    "Current: Ready=True/Serving Synced=True/InSync",
  ],
  [
    "drift",
    serving,
    { record: recordFor({}), differences: [drifted] },
    "Current: Ready=True/Serving Synced=False/Drifted",
  ],
  [
    "drift that something keeps bringing back",
    serving,
    { record: recordFor({}), differences: [drifted], fighting: true },
    "Current: Ready=True/Serving Synced=False/DriftFight",
  ],
  [
    "a change that the service accepts and does not apply",
    serving,
    { record: recordFor({}), differences: [drifted], notApplied: ["image"] },
    "Current: Ready=True/Serving Synced=False/UpdateNotApplied",
  ],
  [
    "a new object that a person must mend",
    PENDING_STATUS,
    stalled,
    "Failed: Ready=False/AppNameTaken Stalled=True/AppNameTaken",
  ],
  [
    "a serving endpoint whose new spec is refused",
    serving,
    { record: recordFor({}), ...stalled },
    "Failed: Ready=False/AppNameTaken Stalled=True/AppNameTaken Synced=True/InSync",
  ],
  [
    "one that another object is bound to",
    serving,
    { verdict: { kind: "Stalled", reason: "AlreadyBound", message: "bound to another" }, alreadyBound: true },
    "Failed: Ready=False/AlreadyBound Stalled=True/AlreadyBound",
  ],
  [
    "what was stalled and serves now",
    stalledBefore,
    { record: recordFor({}) },
    "Current: Ready=True/Serving Synced=True/InSync",
  ],
  [
    "what was stalled and waits now",
    stalledBefore,
    waiting,
    "InProgress: Ready=Unknown/RateLimited Reconciling=True/RateLimited Synced=True/InSync",
  ],
  [
    "a new object that waits",
    PENDING_STATUS,
    waiting,
    "InProgress: Ready=False/RateLimited Reconciling=True/RateLimited",
  ],
  [
    "an endpoint out of sight",
    serving,
    waiting,
    "InProgress: Ready=Unknown/RateLimited Reconciling=True/RateLimited Synced=True/InSync",
  ],
  [
    "a create whose answer was lost",
    PENDING_STATUS,
    { verdict: { kind: "Waiting", reason: "Creating", message: "" } },
    "InProgress: Ready=False/Creating Reconciling=True/Creating",
  ],
  [
    "an object without a status",
    undefined,
    waiting,
    "InProgress: Ready=False/RateLimited Reconciling=True/RateLimited",
  ],
];
