import type { Delivery } from "../errors.ts";

/**
 * What an answer must carry to prove that the request had no effect.
 * - `OwnFormat`: a JSON object. The interface does not show the fields of an error body, so none is required. A page, plain
 *   text or an empty body can come from a gateway that replaced the answer to a request which took effect.
 * - `AnyBody`: the status alone is the proof, whoever sends it.
 */
export type Proof = "OwnFormat" | "AnyBody";

/**
 * The statuses that prove a refusal. Every other status proves nothing, whatever its body:
 * - any 5xx: the service can fail after it took and charged the request;
 * - 408 and 499: a timeout ended the exchange, not the work;
 * - 3xx: 303, and by custom 302, answer a POST that took effect.
 */
export const PROOFS_OF_REFUSAL: readonly { status: number; proof: Proof; because: string }[] = [
  { status: 400, proof: "OwnFormat", because: "the service checks parameters before it starts the work" },
  { status: 401, proof: "AnyBody", because: "RFC 9110: the request has not been applied, for lack of credentials" },
  { status: 402, proof: "OwnFormat", because: "nothing is sold without payment" },
  {
    status: 403,
    proof: "OwnFormat",
    because: "permissions are checked before the work; a firewall's page may follow it",
  },
  { status: 404, proof: "OwnFormat", because: "there is nothing that the request can act on" },
  { status: 405, proof: "OwnFormat", because: "no operation takes the method at this path" },
  { status: 409, proof: "OwnFormat", because: "the request conflicts with the present state and is not applied" },
  { status: 410, proof: "OwnFormat", because: "what the request acts on is gone" },
  { status: 413, proof: "OwnFormat", because: "the body is too large to be read" },
  { status: 415, proof: "OwnFormat", because: "the body cannot be read" },
  { status: 422, proof: "OwnFormat", because: "the service checks parameters before it starts the work" },
  {
    status: 429,
    proof: "AnyBody",
    because: "a rate limiter, also a gateway's, answers instead of passing the request on",
  },
];

const PROOF_BY_STATUS = new Map(PROOFS_OF_REFUSAL.map(({ status, proof }) => [status, proof]));

/** What an answer outside 2xx says of the request's effect. `ownFormat`: its body is a JSON object. */
export function deliveryOf(status: number, ownFormat: boolean): Delivery {
  const proof = PROOF_BY_STATUS.get(status);
  return proof === "AnyBody" || (proof === "OwnFormat" && ownFormat) ? "Refused" : "Unknown";
}
