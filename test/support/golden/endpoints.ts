import { setConditions } from "../../../src/api/v1alpha1/conditions.ts";
import type { GpuEndpoint, GpuEndpointStatus } from "../../../src/api/v1alpha1/gpu-endpoint.ts";
import { PENDING_STATUS } from "../../../src/api/v1alpha1/meta.ts";
import type { Difference } from "../../../src/controllers/gpu-endpoint/fields.ts";
import { type Outcome, statusOf } from "../../../src/controllers/gpu-endpoint/status.ts";
import type { EndpointRecord } from "../../../src/provider/endpoints/endpoint-record.ts";
import { desiredOf, endpointOf, recordOf } from "../endpoints.ts";
import { START } from "../fake-clock.ts";
import type { Verdict } from "../kstatus.ts";
import type { Change } from "../manifests.ts";

const early = "2026-02-28T23:00:00Z";
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
  conditions: setConditions(
    [],
    [
      { type: "Ready", status: "True", reason: "Serving", message: "" },
      { type: "Synced", status: "True", reason: "InSync", message: "" },
    ],
    early,
  ),
};
const stalledBefore: GpuEndpointStatus = {
  endpointID: "ep-1",
  conditions: setConditions(
    serving.conditions,
    [{ type: "Stalled", status: "True", reason: "OutOfRange", message: "" }],
    early,
  ),
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

export type EndpointRow = [
  name: string,
  before: GpuEndpointStatus | undefined,
  part: Partial<Outcome>,
  conditions: string[],
  verdict: Verdict,
];

const stalled = { verdict: { kind: "Stalled", reason: "AppNameTaken", message: "choose another" } } as const;
const waiting = { verdict: { kind: "Waiting", reason: "RateLimited", message: "429" }, outdated: true } as const;

/** Every state of an endpoint, with its conditions, and how kstatus reads it. */
export const ENDPOINT_STATES: EndpointRow[] = [
  [
    "a serving endpoint",
    PENDING_STATUS,
    { record: recordFor({}) },
    ["Ready=True/Serving", "Synced=True/InSync"],
    "Current",
  ],
  [
    "one of the earlier generation",
    PENDING_STATUS,
    { record: recordFor(remote("serving")) },
    ["Ready=True/Serving", "Synced=True/InSync"],
    "Current",
  ],
  [
    "an empty worker list at min 0",
    PENDING_STATUS,
    { record: recordFor({ workers: [] }) },
    ["Ready=True/Serving", "Synced=True/InSync"],
    "Current",
  ],
  [
    "a remote state that nobody knows",
    PENDING_STATUS,
    { record: recordFor(remote("marinating")) },
    ["Ready=Unknown/RemoteStateUnknown", "Synced=True/InSync"],
    "InProgress",
  ],
  [
    "a remote error",
    PENDING_STATUS,
    { record: recordFor(remote("running", "IMAGE_PULL", "no such image")) },
    ["Ready=False/RemoteError", "Synced=True/InSync"],
    "InProgress",
  ],
  [
    "not serving yet after a write",
    settling,
    { record: recordFor(remote("deploying")) },
    ["Ready=Unknown/RemoteStateUnknown", "Reconciling=True/Progressing", "Synced=True/InSync"],
    "InProgress",
  ],
  [
    "serving right after a write",
    settling,
    { record: recordFor({}) },
    ["Ready=True/Serving", "Synced=True/InSync"],
    "Current",
  ],
  [
    "drift",
    serving,
    { record: recordFor({}), differences: [drifted] },
    ["Ready=True/Serving", "Synced=False/Drifted"],
    "Current",
  ],
  [
    "drift that something keeps bringing back",
    serving,
    { record: recordFor({}), differences: [drifted], fighting: true },
    ["Ready=True/Serving", "Synced=False/DriftFight"],
    "Current",
  ],
  [
    "a change that the service accepts and does not apply",
    serving,
    { record: recordFor({}), differences: [drifted], notApplied: ["image"] },
    ["Ready=True/Serving", "Synced=False/UpdateNotApplied"],
    "Current",
  ],
  [
    "a new object that a person must mend",
    PENDING_STATUS,
    stalled,
    ["Ready=False/AppNameTaken", "Stalled=True/AppNameTaken"],
    "Failed",
  ],
  [
    "a serving endpoint whose new spec is refused",
    serving,
    { record: recordFor({}), ...stalled },
    ["Ready=False/AppNameTaken", "Stalled=True/AppNameTaken", "Synced=True/InSync"],
    "Failed",
  ],
  [
    "one that another object is bound to",
    serving,
    { verdict: { kind: "Stalled", reason: "AlreadyBound", message: "bound to another" }, alreadyBound: true },
    ["Ready=False/AlreadyBound", "Stalled=True/AlreadyBound"],
    "Failed",
  ],
  [
    "what was stalled and serves now",
    stalledBefore,
    { record: recordFor({}) },
    ["Ready=True/Serving", "Synced=True/InSync"],
    "Current",
  ],
  [
    "what was stalled and waits now",
    stalledBefore,
    waiting,
    ["Ready=Unknown/RateLimited", "Reconciling=True/RateLimited", "Synced=True/InSync"],
    "InProgress",
  ],
  [
    "a new object that waits",
    PENDING_STATUS,
    waiting,
    ["Ready=False/RateLimited", "Reconciling=True/RateLimited"],
    "InProgress",
  ],
  [
    "an endpoint out of sight",
    serving,
    waiting,
    ["Ready=Unknown/RateLimited", "Reconciling=True/RateLimited", "Synced=True/InSync"],
    "InProgress",
  ],
  [
    "a create whose answer was lost",
    PENDING_STATUS,
    { verdict: { kind: "Waiting", reason: "Creating", message: "" } },
    ["Ready=False/Creating", "Reconciling=True/Creating"],
    "InProgress",
  ],
  [
    "an object without a status",
    undefined,
    waiting,
    ["Ready=False/RateLimited", "Reconciling=True/RateLimited"],
    "InProgress",
  ],
];
