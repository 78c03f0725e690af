import type { DriftField, GpuEndpointSpec } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import type { LimitName } from "../../provider/endpoints/limits.ts";
import type { EndpointSpec as DesiredEndpoint, EndpointVariable } from "../../provider/types.ts";

/** What a desired endpoint is built from. `name` and `appName`: those of an object whose spec has none. */
export type DesiredSource = {
  spec: GpuEndpointSpec;
  name: string;
  appName: string;
  /** `spec.env` with its references resolved. */
  env: EndpointVariable[];
};

/** A path that has a value of its own: `workers` and `policy` only group others. */
export type FieldPath = Exclude<DriftField, "workers" | "policy">;

/** Two values that differ, as `status.drift` shows them. */
export type ValueTexts = { desired: string; observed: string };

/** A number of the spec that has to lie within a limit of the account. */
export type LimitedValue = { path: string; value: number; limit: LimitName };

/**
 * One field of a GpuEndpoint. The desired endpoint, drift detection, ignored fields, range checks and import derive from it;
 * the table in the API's documentation has the same rows.
 */
export type EndpointField = {
  path: FieldPath;
  /** Whether a spec may leave it out. */
  optional: boolean;
  /** Whether `spec.suspend` sets it to 0, even when `ignoreDrift` names it. */
  zeroWhenSuspended: boolean;
  /** Whether the update operation sends it; a create sends every field. */
  updatable: boolean;
  /** The desired endpoint with the value of the spec, or its default. */
  build(desired: DesiredEndpoint, source: DesiredSource): DesiredEndpoint;
  /** What is sent. Equal values are sent alike. */
  sent(desired: DesiredEndpoint): unknown;
  /** undefined: the values are equal, or the service does not show the field. */
  compare(desired: DesiredEndpoint, record: EndpointRecord): ValueTexts | undefined;
  /** The desired endpoint with the value of the remote; unchanged when the service does not show one that can be sent. */
  takeOver(desired: DesiredEndpoint, record: EndpointRecord): DesiredEndpoint;
  limited(desired: DesiredEndpoint): LimitedValue[];
  /** The value of the remote as a spec spells it, not validated; undefined: the spec leaves the field out. */
  imported(record: EndpointRecord): unknown;
};
