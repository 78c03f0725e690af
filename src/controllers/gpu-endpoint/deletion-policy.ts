import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import { ANNOTATIONS } from "../../api/v1alpha1/meta.ts";

type DeletionPolicy = GpuEndpoint["spec"]["deletionPolicy"];

/** The value of an annotation that is not a policy: nothing is done until you correct it. */
type Unreadable = { unreadable: string };

const POLICIES: readonly string[] = ["ScaleToZero", "Retain", "Delete"] satisfies DeletionPolicy[];
const isPolicy = (value: string): value is DeletionPolicy => POLICIES.includes(value);

/** The annotation overrides the spec, so that you can release a blocked deletion. */
export function deletionPolicyOf(endpoint: GpuEndpoint): DeletionPolicy | Unreadable {
  const override = endpoint.metadata.annotations?.[ANNOTATIONS.deletionPolicy];
  if (override === undefined) return endpoint.spec.deletionPolicy;
  return isPolicy(override) ? override : { unreadable: override };
}

/** Whether deleting the object has work to do at the remote. */
export function needsFinalizer(endpoint: GpuEndpoint): boolean {
  return endpoint.spec.managementPolicy === "Full" && deletionPolicyOf(endpoint) !== "Retain";
}
