import type { GpuEndpoint, GpuEndpointStatus } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { Sanitizer } from "../../base/sanitizer.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import type { ReconcileContext } from "../../runtime/controller.ts";
import type { AccountHandle } from "../account/registry.ts";
import type { ControllerDeps, Kind } from "../controller-deps.ts";
import type { CurrentState } from "../current-state.ts";
import { assertWanted } from "../wanted.ts";
import type { Attempts } from "./attempts.ts";
import type { Claims } from "./claims.ts";
import type { Binding, Plan } from "./facts.ts";
import type { EndpointMemories, OpenCreate } from "./memory.ts";

/** A create may show, or a settling endpoint may serve, at any moment. */
export const LOOK_AGAIN_MS = 2_000;

/** What one step toward the spec works with. */
export type Step = {
  shared: ControllerDeps;
  kind: Kind<GpuEndpoint>;
  endpoint: GpuEndpoint;
  account: AccountHandle;
  /** The create of this object whose outcome the status does not show. */
  entry: OpenCreate | undefined;
  /** How long its outcome has been unknown here. */
  unknownForMs: number;
  memories: EndpointMemories;
  claims: Pick<Claims, "claimFound">;
  checks: WriteChecks;
  /** A user requests a reconcile: read the remote and try again now. */
  requested: boolean;
  left: Left;
  context: ReconcileContext;
};

/** When a create or update was sent, and when the service accepted it. RFC 3339 with milliseconds. */
export type RequestTimes = { sentTime: string; acceptedTime: string };

export type Written = Pick<
  GpuEndpointStatus,
  | "endpointID"
  | "appName"
  | "submission"
  | "unconfirmedCreates"
  | "appliedGeneration"
  | "appliedReferencesHash"
  | "lastAppliedTime"
> & {
  account?: GpuEndpointStatus["account"];
  /** Of the request that this reconcile sent, or found to be accepted: `status.lastChange` shows it. */
  request?: RequestTimes;
};

/** What a step leaves for the status. */
export type Left = {
  /** The object as it was last written. */
  endpoint: GpuEndpoint;
  written: Partial<Written>;
  /** For the service's texts. Default: one that knows no secret. */
  sanitize?: Sanitizer;
};

/** The checks before a write to the service. */
export type WriteChecks = {
  /** Throws unless the object is surely not older than this process's term (`CurrentState`). */
  assertCurrent: () => Promise<void>;
  /** Throws, before the first byte, unless this process surely serves the account and the object still wants the write (wanted.ts). */
  beforeSend: () => void;
};

/** The remote as observed, and what to do. */
export type Decision = { binding: Binding; plan: Plan; applied: boolean; attempts: Attempts };

export function recordOf({ binding }: Decision): EndpointRecord | undefined {
  return binding.kind === "Bound" ? binding.record : undefined;
}

type ChecksDeps = {
  shared: Pick<ControllerDeps, "accounts" | "servers">;
  kind: Pick<Kind<GpuEndpoint>, "store" | "resource">;
  currentState: CurrentState<GpuEndpoint>;
};

/** @param left the object as it was last written */
export function writeChecks(
  { shared, kind, currentState }: ChecksDeps,
  left: Pick<Left, "endpoint">,
  account: AccountHandle,
  signal: AbortSignal,
): WriteChecks {
  return {
    assertCurrent: () => currentState.assertCurrent(left.endpoint, signal),
    beforeSend() {
      shared.servers.assertServing(account.key);
      assertWanted(shared, { kind, object: left.endpoint, account });
    },
  };
}
