import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";

/** An endpoint that the service does not show. `memberID`: of its status, where the service showed one. */
export type MissingEndpoint = { endpointID: string | undefined; memberID: string | undefined };

/**
 * How many endpoints are bound to the account when nothing shows that the current key sees them; else 0. The key of
 * another member is valid and sees none of them, so absence then proves nothing. Evidence is an endpoint in the list that
 * has the same member as the missing one or, where a member is not known, one that an object is bound to.
 * @param shown what the service shows with the current key
 */
export function countVanished(
  boundIDs: readonly string[],
  shown: readonly Pick<EndpointRecord, "id" | "memberID">[],
  { endpointID, memberID = "" }: MissingEndpoint,
): number {
  const bound = new Set(endpointID === undefined ? boundIDs : [...boundIDs, endpointID]);
  const isEvidence = (record: Pick<EndpointRecord, "id" | "memberID">) =>
    memberID === "" || record.memberID === "" ? bound.has(record.id) : record.memberID === memberID;
  return shown.some(isEvidence) ? 0 : bound.size;
}
