import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { JournalEntry } from "../../submission/journal.ts";
import type { AccountHandle } from "../account/registry.ts";
import type { ControllerDeps } from "../controller-deps.ts";
import { LOOKUP_MS, noneShown } from "./plan.ts";

/** Whether an endpoint that a read did not find is proven not to exist. */
export type Absence =
  | { kind: "Proven" }
  /** Another list, or more time, decides. `againMs`: when to check again, default 2 s. */
  | { kind: "Unproven"; message: string; againMs?: number }
  /** The current API key cannot show a proof. */
  | { kind: "Unprovable"; message: string };

export type AbsenceInput = {
  shared: ControllerDeps;
  account: AccountHandle;
  endpoint: GpuEndpoint;
  endpointID: string;
  entry: JournalEntry | undefined;
  signal: AbortSignal;
};

const CONTRADICTION_MS = 30_000;

/**
 * Judges an endpoint that a read just did not find. Absence is proven when two complete lists in a row do not show it
 * either, and the key evidently sees the account's endpoints.
 * @param seenByKey a read showed the endpoint to the current key before the deletion was sent: that is proof enough
 */
export async function judgeAbsence(input: AbsenceInput, seenByKey: boolean): Promise<Absence> {
  const { account, endpoint, endpointID, signal } = input;
  if (!seenByKey && isNew(input)) {
    return {
      kind: "Unproven",
      message: `The service does not show endpoint ${endpointID} yet, which was created less than a minute ago`,
    };
  }
  if (!account.endpoints.observed.gone(endpointID)) await account.endpoints.observed.next(signal);
  if (account.endpoints.observed.shown().some(({ id }) => id === endpointID)) {
    return {
      kind: "Unproven",
      message: `A read does not find endpoint ${endpointID}, but the list shows it`,
      againMs: CONTRADICTION_MS,
    };
  }
  if (!account.endpoints.observed.gone(endpointID)) {
    return {
      kind: "Unproven",
      message: `The service does not know endpoint ${endpointID}; it counts as deleted when two complete lists do not show it`,
    };
  }
  const vanished = seenByKey ? 0 : account.vanished({ endpointID, memberID: endpoint.status?.memberID });
  if (vanished === 0) return { kind: "Proven" };
  return {
    kind: "Unprovable",
    message: `It is not known whether endpoint ${endpointID} still runs: ${noneShown(vanished)}, as with the key of another member. Put a key that sees the account's endpoints into its Secret`,
  };
}

/** Lists and reads may show a new endpoint late. */
function isNew({ shared, endpoint, entry }: AbsenceInput): boolean {
  const times = [entry?.time, endpoint.status?.submission?.time].flatMap((time) => time ?? []);
  return shared.clock.now() - Math.max(...times.map((time) => Date.parse(time)), 0) < LOOKUP_MS;
}
