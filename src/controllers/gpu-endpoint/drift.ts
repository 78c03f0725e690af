import {
  type DriftField,
  driftFields,
  type EndpointDrift,
  type GpuEndpointSpec,
} from "../../api/v1alpha1/gpu-endpoint.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import type { DesiredEndpoint } from "./desired.ts";
import { endpointFields } from "./fields.ts";

export type Difference = EndpointDrift & {
  field: DriftField;
  /** Whether the update operation can change it. */
  remediable: boolean;
};

/** An adopted endpoint keeps its own app name. */
export const ADOPTED_KEEP: readonly DriftField[] = ["appName"];

const WORKER_FIELDS = driftFields.filter((field) => field.startsWith("workers."));
const SUSPENDED_FIELDS = endpointFields.flatMap(({ path, zeroWhenSuspended }) => (zeroWhenSuspended ? [path] : []));

/**
 * Fields that another party owns. `suspend` sets the number of workers, whoever owns it otherwise, until the remote was
 * given its workers again (`resuming`).
 */
export function ignoredFields(spec: GpuEndpointSpec, resuming = false): DriftField[] {
  const theirs = spec.ignoreDrift ?? [];
  const adopted = spec.adoption === undefined ? [] : ADOPTED_KEEP;
  if (!spec.suspend && !resuming) return [...theirs, ...adopted];
  const scaled: readonly DriftField[] = ["workers", ...SUSPENDED_FIELDS];
  const others = theirs.includes("workers") ? WORKER_FIELDS.filter((field) => !scaled.includes(field)) : [];
  return [...theirs.filter((field) => !scaled.includes(field)), ...others, ...adopted];
}

/** Whether one of `paths` is the field or its parent. */
function covers(paths: readonly DriftField[], field: DriftField): boolean {
  return paths.some((path) => field === path || field.startsWith(`${path}.`));
}

/**
 * Where the remote differs from the spec, after normalising: absent is empty, order matters only where it has a
 * meaning. A field whose path, or whose parent's path, is in `ignored` belongs to another party.
 */
export function differences(
  desired: DesiredEndpoint,
  record: EndpointRecord,
  ignored: readonly DriftField[] = [],
): Difference[] {
  return endpointFields.flatMap((field): Difference[] => {
    const texts = covers(ignored, field.path) ? undefined : field.compare(desired, record);
    return texts === undefined ? [] : [{ field: field.path, ...texts, remediable: field.updatable }];
  });
}

/**
 * The desired endpoint with the fields of another party taken from the remote: an update names every parameter, and
 * must not overwrite theirs.
 */
export function withIgnored(
  desired: DesiredEndpoint,
  record: EndpointRecord,
  ignored: readonly DriftField[],
): DesiredEndpoint {
  return endpointFields
    .filter(({ path }) => covers(ignored, path))
    .reduce((sent, field) => field.takeOver(sent, record), desired);
}
