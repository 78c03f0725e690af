import * as z from "zod";
import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import { ANNOTATIONS, boundAccountSchema, type Submission } from "../../api/v1alpha1/meta.ts";
import type { OpenSubmission, SubmissionRecord } from "../../submission/record.ts";

/** A create whose outcome the status does not show. `outcome`: what this process knows of it. */
export type OpenCreate = OpenSubmission & { outcome?: { endpointID: string } | { unusable: string } };

/** The endpoint that a create is known to have made. */
export function createdBy(create: OpenCreate | undefined): string | undefined {
  return create?.outcome !== undefined && "endpointID" in create.outcome ? create.outcome.endpointID : undefined;
}

const recordSchema: z.ZodType<SubmissionRecord> = z.object({
  id: z.string().max(256),
  uid: z.string().max(256),
  attempt: z.int().min(1).max(1_000_000),
  operation: z.string().max(64),
  specHash: z.string().max(128),
  account: boundAccountSchema,
  keyVersion: z.string().max(64).optional(),
  sender: z.string().max(512),
  time: z.iso.datetime(),
});

/** What tells of an object's creates. */
type Recorded = {
  metadata: Pick<GpuEndpoint["metadata"], "uid" | "annotations">;
  status?: { submission?: Submission | undefined } | undefined;
};

/** The record of the last create of this object. The annotation of another object, such as the one that was copied, is none. */
export function createRecordOf({ metadata }: Recorded): SubmissionRecord | undefined {
  const text = metadata.annotations?.[ANNOTATIONS.create];
  if (text === undefined || !text.includes(metadata.uid)) return undefined;
  try {
    const { data } = recordSchema.safeParse(JSON.parse(text));
    return data?.uid === metadata.uid ? data : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the status shows the outcome of a create, or of a later one. Each create of an object has a higher attempt than those before. */
export function isShown({ id, attempt }: OpenSubmission, { status }: Recorded): boolean {
  const { submission } = status ?? {};
  if (submission === undefined) return false;
  return submission.id === id ? submission.state !== "Intended" : submission.attempt >= attempt;
}

/** The record of a create whose outcome the status does not show. Whether it was sent is another question. */
export function unshownCreateOf(endpoint: Recorded): SubmissionRecord | undefined {
  if (showsLast(endpoint)) return undefined;
  const record = createRecordOf(endpoint);
  return record === undefined || isShown(record, endpoint) ? undefined : record;
}

/** Whether the status shows the outcome of the create that is in the annotation. Usually it does, and each reconcile asks, so nothing is parsed. */
function showsLast({ metadata, status }: Recorded): boolean {
  const { id, state } = status?.submission ?? {};
  if (id === undefined || state === "Intended") return false;
  return metadata.annotations?.[ANNOTATIONS.create]?.includes(`"id":${JSON.stringify(id)}`) === true;
}
