import type { OpenSubmission } from "../../submission/record.ts";

/** A create whose outcome the status does not show. `outcome`: what this process knows of it. */
export type OpenCreate = OpenSubmission & { outcome?: { endpointID: string } | { unusable: string } };

/** The endpoint that a create is known to have made. */
export function createdBy(create: OpenCreate | undefined): string | undefined {
  return create?.outcome !== undefined && "endpointID" in create.outcome ? create.outcome.endpointID : undefined;
}
