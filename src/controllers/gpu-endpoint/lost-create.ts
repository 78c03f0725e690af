import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import type { ReconcileContext } from "../../runtime/controller.ts";
import type { AccountHandle } from "../account/registry.ts";
import type { ControllerDeps } from "../controller-deps.ts";
import type { Claims } from "./claims.ts";
import type { OpenCreate } from "./create-record.ts";
import { appNameOf, desiredEndpoint } from "./fields.ts";
import { observeBinding } from "./observe.ts";
import { acceptedWithoutID, isOurCreate, LOOKUP_MS, notShownToKey } from "./plan.ts";

/** What is known, at the deletion of its object, of a create whose response was lost. */
export type LostCreate =
  | { kind: "Found"; endpointID: string }
  /** The create had no effect, or its endpoint is another object's or client's. */
  | { kind: "None" }
  /** The endpoint may still show. */
  | { kind: "LookAgain" }
  /** The endpoint may run where the current key does not see it: a user must act. */
  | { kind: "NotShown"; message: string };

type LostCreateInput = {
  endpoint: GpuEndpoint;
  entry: OpenCreate | undefined;
  /** How long its outcome has been unknown here. */
  unknownForMs: number;
  context: Pick<ReconcileContext, "signal">;
  shared: ControllerDeps;
  account: AccountHandle;
  claims: Pick<Claims, "belongsToAnother">;
};

/**
 * Looks for the endpoint of a create whose response was lost. An object without an open create is searched for as well: users and
 * restores can remove its record.
 */
export async function findLostCreate(input: LostCreateInput): Promise<LostCreate> {
  const { shared, account, claims, endpoint, entry, unknownForMs, context } = input;
  const { signal } = context;
  const now = shared.clock.now();
  const appName = appNameOf(endpoint, shared.clusterUID);
  if (entry === undefined) {
    const [found] = await account.endpoints.find(appName, signal);
    return found === undefined ? { kind: "None" } : { kind: "Found", endpointID: found.id };
  }
  // The namespace may be deleted with its Secrets, so every field but the environment has to match.
  const desired = desiredEndpoint(endpoint, shared.clusterUID, []);
  const isOurs = (record: EndpointRecord, sentAt: number) => isOurCreate({ desired }, record, sentAt, ["env"]);
  const binding = await observeBinding({ endpoint, account, entry, unknownForMs, appName, isOurs, now, signal });
  if (binding.kind === "Bound") return { kind: "Found", endpointID: binding.endpointID };
  if (binding.kind === "Unbound") return { kind: "None" };

  const { candidate, sentAt, key, accepted } = binding;
  if (candidate !== undefined && !claims.belongsToAnother(endpoint, candidate.id)) {
    const ours = endpoint.spec.appName === undefined || isOurs(candidate, sentAt);
    if (ours) return { kind: "Found", endpointID: candidate.id };
    const note = `Endpoint ${candidate.id} has app name ${appName}, but may belong to another client: Mooring does not change it`;
    shared.recorder.warning(endpoint, "AppNameTaken", "Delete", note);
  }
  const mayShow = candidate === undefined && binding.unknownForMs < LOOKUP_MS;
  if (mayShow || key === "Changed") return { kind: "LookAgain" };
  if (key === "Other") {
    return { kind: "NotShown", message: `${notShownToKey(sentAt)}. Put the former key into the Secret of the account` };
  }
  if (candidate === undefined && accepted) {
    return { kind: "NotShown", message: `${acceptedWithoutID(sentAt, appName)}: look for it in the service's records` };
  }
  if (candidate !== undefined || account.vanished() === 0) return { kind: "None" };
  const message = `The response to the create was lost, and the service shows no endpoint of this account with the current key, so it is unknown whether ${endpoint.metadata.name} was created. Put a key that sees the account's endpoints into its Secret`;
  return { kind: "NotShown", message };
}
