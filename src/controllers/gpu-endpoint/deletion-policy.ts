import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import { ANNOTATIONS } from "../../api/v1alpha1/meta.ts";

export type DeletionPolicy = GpuEndpoint["spec"]["deletionPolicy"];

/** What an annotation says that is none of the policies: nothing is done before it is put right. */
export type Unreadable = { unreadable: string };

const POLICIES: readonly string[] = ["ScaleToZero", "Retain", "Delete"] satisfies DeletionPolicy[];
const isPolicy = (value: string): value is DeletionPolicy => POLICIES.includes(value);

/** The annotation wins, so that a deletion that cannot go on can be released. */
export function deletionPolicyOf(endpoint: GpuEndpoint): DeletionPolicy | Unreadable {
  const override = endpoint.metadata.annotations?.[ANNOTATIONS.deletionPolicy];
  if (override === undefined) return endpoint.spec.deletionPolicy;
  return isPolicy(override) ? override : { unreadable: override };
}

/** Whether deleting the object has work to do at the remote. */
export function needsFinalizer(endpoint: GpuEndpoint): boolean {
  return endpoint.spec.managementPolicy === "Full" && deletionPolicyOf(endpoint) !== "Retain";
}

/** The command that lets the object go and leaves the remote endpoint as it is. */
export function releaseLine({ metadata: { namespace = "", name } }: GpuEndpoint): string {
  return `kubectl -n ${namespace} annotate gpuendpoint ${name} ${ANNOTATIONS.deletionPolicy}=Retain --overwrite`;
}
