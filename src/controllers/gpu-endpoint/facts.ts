import type { DriftField, GpuEndpointSpec } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { Reason } from "../../api/v1alpha1/reasons.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import type { EndpointLimits } from "../../provider/endpoints/limits.ts";
import type { Forbidden } from "../account/share-rules.ts";
import type { Cause } from "../verdict.ts";
import type { FieldHistory } from "./attempts.ts";
import type { DesiredEndpoint, Difference } from "./fields.ts";
import type { UnconfirmedCreate } from "./recreation.ts";

/** What is known of the remote endpoint of an object. */
export type Binding =
  /**
   * Never created, as far as the object shows. `candidate`: a remote endpoint with our app name. `others`: the IDs of
   * further ones.
   */
  | {
      kind: "Unbound";
      candidate: EndpointRecord | undefined;
      others?: readonly string[];
      adopt: EndpointRecord | "NotFound" | undefined;
    }
  /**
   * A create was sent and no response shows its endpoint. `accepted`: the service accepted it. `sentAt`: ms since the epoch. `unknownForMs`: how long
   * this process has known of it, and so surely not less than what has passed since it was sent.
   * `key`: whether the search for its endpoint was made with the API key that the create was sent with; `Changed`: the key changed
   * during the search. With another key, the lack of a candidate proves nothing.
   */
  | {
      kind: "CreateUnknown";
      candidate: EndpointRecord | undefined;
      accepted: boolean;
      key: "Same" | "Other" | "Changed";
      sentAt: number;
      unknownForMs: number;
    }
  /**
   * The object owns it. `record` undefined: the service does not show it. `candidate`: then, another endpoint with our app name.
   * `fresh`: from a read, not from the list.
   */
  | {
      kind: "Bound";
      endpointID: string;
      record: EndpointRecord | undefined;
      candidate?: EndpointRecord | undefined;
      fresh: boolean;
      provenGone: boolean;
    };

export type Facts = {
  spec: GpuEndpointSpec;
  desired: DesiredEndpoint;
  binding: Binding;
  limits: EndpointLimits | undefined;
  /** A read has shown the remote with this generation, with these values from Secrets and ConfigMaps. */
  applied: boolean;
  /** `suspend` was set back to false, and no read has shown the workers of the spec since. */
  resuming: boolean;
  /** The outcomes of earlier updates of this field with the same desired endpoint. */
  history: (field: DriftField) => FieldHistory;
  /** How many endpoints are bound to the account when nothing shows that the key sees them; else 0 (countVanished). */
  vanished: () => number;
  /** No read has shown the bound endpoint since it was created with another key (`isSeenByNoKey`). */
  seenByNoKey: boolean;
  /** Creates of this object that no read has confirmed. */
  creates: readonly UnconfirmedCreate[];
  /**
   * Why the budget of the account, or the share of the namespace, delays a request that gives the endpoint workers. Asked only for such a
   * request: it counts the endpoints of the share.
   */
  budget?: (() => Cause | undefined) | undefined;
  /** What the share of the namespace never allows. Default: nothing. */
  share?: { forbidden: readonly Forbidden[]; forbiddenRegion(regionID: string): readonly Forbidden[] } | undefined;
  /** Why nothing is created: etcd was restored, and the object is older. */
  heldByRestore: string | undefined;
  /** The command that requests a reconcile of the object. */
  requestCommand: string;
  /** A user requests a reconcile. */
  requested: boolean;
  /** Milliseconds since the epoch. */
  now: number;
};

export type Plan =
  | { action: "Create" }
  /** Look the app name up again: a create may still show. */
  | { action: "LookAgain" }
  | { action: "Bind"; record: EndpointRecord }
  /**
   * `sent`: the desired endpoint with the fields of another party, and those that the budget holds back, as the remote has
   * them. `raises`: it gives the endpoint workers.
   */
  | { action: "Update"; sent: DesiredEndpoint; differences: Difference[]; raises: boolean }
  /**
   * Nothing to write now. `fighting`: another client reverts what reads showed, so it is not sent any more.
   * `notApplied`: fields whose update the service accepts without effect.
   */
  | { action: "None"; differences: Difference[]; fighting: boolean; notApplied?: DriftField[]; lookAgainMs?: number }
  /** The remote does not show the endpoint, which proves nothing yet. */
  | { action: "AwaitProofOfAbsence" }
  /** Earlier creates are unconfirmed: the next one is sent after `againMs`. */
  | { action: "DelayCreate"; message: string; againMs: number }
  /** The budget holds back a create, or an update that gives the endpoint workers and changes nothing else. */
  | { action: "AwaitBudget"; refusal: Cause; differences: Difference[] }
  /** A user must act. */
  | { action: "Stall"; reason: Reason; message: string; differences: Difference[] };
