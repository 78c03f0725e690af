import type { Plan } from "../../../controllers/gpu-endpoint/facts.ts";
import { type DesiredEndpoint, type Difference, endpointFields } from "../../../controllers/gpu-endpoint/fields.ts";
import type { PlannedCost } from "../../../describe/cost.ts";
import type { EndpointRecord } from "../../../provider/endpoints/endpoint-record.ts";

/**
 * What an apply changes at the service. `Submit`: a paid request. `Blocked`: nothing until what the problems name is there.
 * `Conflict`: the API server refuses the manifest, or it contradicts the remote endpoint.
 */
export type PlannedAction = "Create" | "Update" | "Submit" | "None" | "Blocked" | "Conflict";

/** A field with its value at the service and the one that Mooring sends. Values of variables are hidden. */
export type PlannedChange = { field: string; before: string; after: string };

export type Planned = {
  object: string;
  action: PlannedAction;
  endpointID?: string;
  message: string;
  changes: PlannedChange[];
  /** Of what is not done: each problem, where there are several. */
  problems?: string[];
  /** What the user may not read, so that the plan does not know it. */
  unchecked?: string;
} & Partial<PlannedCost>;

export const conflict = (problems: readonly string[]) => notDone("Conflict", problems);

export const blocked = (problems: readonly string[]) => notDone("Blocked", problems);

/** What is not done, and why. */
function notDone(action: "Blocked" | "Conflict", problems: readonly string[]): Omit<Planned, "object"> {
  const [only = "", ...others] = problems;
  if (others.length === 0) return { action, message: only, changes: [] };
  return { action, message: `${problems.length} problems`, changes: [], problems: [...problems] };
}

/** A record without any value: what a create is compared with. */
const NOTHING: EndpointRecord = {
  id: "",
  type: "",
  name: "",
  appName: "",
  status: { status: "", error: "", message: "" },
  url: "",
  productID: "",
  workers: [],
  scaling: {
    min: undefined,
    max: undefined,
    idleTimeout: undefined,
    maxConcurrency: undefined,
    gpus: undefined,
    requestTimeout: undefined,
    minCudaVersion: "",
  },
  rootfsSizeGB: undefined,
  policy: { type: "", value: undefined },
  image: "",
  registryAuthID: "",
  entrypoint: "",
  command: "",
  volumes: [],
  envs: [],
  ports: [],
  healthCheck: { path: "", port: undefined },
  regionID: "",
  memberID: "",
  ownerID: "",
  createdAt: undefined,
};

/** Every field that a create sends. */
export function createdFields(desired: DesiredEndpoint): PlannedChange[] {
  return endpointFields.flatMap((field) => {
    const sent = field.sent(desired);
    const plain = Array.isArray(sent) ? sent.join(", ") : String(sent);
    const after = field.compare(desired, NOTHING)?.desired ?? plain;
    return after === "" ? [] : [{ field: field.path, before: "", after }];
  });
}

const changed = (differences: readonly Difference[]): PlannedChange[] =>
  differences.flatMap(({ field, desired = "", observed = "", remediable }) =>
    remediable ? [{ field, before: observed, after: desired }] : [],
  );

/** What the plan of the operator means for a user. `changes` of a `None` differ and stay as they are. */
export function plannedOf(plan: Plan, desired: DesiredEndpoint, endpointID: string): Omit<Planned, "object"> {
  const bound = endpointID === "" ? {} : { endpointID };
  switch (plan.action) {
    case "Create":
      return { action: "Create", message: "create an endpoint", changes: createdFields(desired) };
    case "Update": {
      const fixed = plan.differences.filter(({ remediable }) => !remediable).map(({ field }) => field);
      const rest = fixed.length === 0 ? "" : `; the service cannot change ${fixed.join(", ")}`;
      return {
        ...bound,
        action: "Update",
        message: `update endpoint ${endpointID}${rest}`,
        changes: changed(plan.differences),
      };
    }
    case "None": {
      const fields = plan.differences.map(({ field }) => field).join(", ");
      const message = fields === "" ? "no change" : `no change: Mooring leaves ${fields} as they are at the service`;
      return { ...bound, action: "None", message, changes: [] };
    }
    case "Stall":
      return {
        ...bound,
        action: "Conflict",
        message: `${plan.reason}: ${plan.message}`,
        changes: changed(plan.differences),
      };
    case "AwaitProofOfAbsence":
      return {
        ...bound,
        action: "Create",
        message: `endpoint ${endpointID} is not shown by the service: create it again when its absence is proven`,
        changes: createdFields(desired),
      };
    case "Bind":
    case "LookAgain":
    case "AwaitBudget":
    case "DelayCreate":
      throw new Error(`a plan without memory has no ${plan.action}`);
  }
}
