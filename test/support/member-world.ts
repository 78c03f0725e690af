import type { AssumptionsInput } from "../../src/simulator/assumptions.ts";
import { API_KEY, disposableWorld, eventually, type World } from "./world.ts";

export const FOREIGN_KEY = "key-of-another-member";
const deleteOperation = { method: "DELETE", path: "/gpus/v2/endpoints/{id}" } as const;

/** A world whose keys see only what their own member created. */
export async function memberWorld(prefix: string, simulator: AssumptionsInput = {}): Promise<World> {
  return disposableWorld(prefix, {
    simulator: { keySees: "Member", apiKeys: [API_KEY, FOREIGN_KEY], deleteOperation, ...simulator },
    account: { endpoints: { syncInterval: "1s", deleteOperation } },
  });
}

/** The account gets another key; resolves when the operator uses it. */
export async function useKey(world: World, apiKey: string): Promise<void> {
  await world.patch("Secret", "key", { stringData: { apiKey } });
  await world.patch("Account", "default", {
    metadata: { annotations: { "mooring.dev/reconcile-requested-at": apiKey } },
  });
  await eventually(
    "the account was asked",
    async () => (await world.get("Account", "default")).status?.["lastHandledReconcileAt"] === apiKey,
  );
}
