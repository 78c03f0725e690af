import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import { ANNOTATIONS, type Submission } from "../../api/v1alpha1/meta.ts";
import type { ReconcileContext } from "../../runtime/controller.ts";
import { submissionOf } from "../../submission/record.ts";
import type { RecordedObject } from "../../submission/store-record.ts";
import { type SubmitOnceResult, submitOnce } from "../../submission/submit-once.ts";
import { boundTo } from "../account/registry.ts";
import { assertMaySubmit } from "../wanted.ts";
import { needsFinalizer, requestHash } from "./desired.ts";
import type { DesiredEndpoint } from "./fields.ts";
import { createRecordOf, textOf } from "./memory.ts";
import type { Left, Step } from "./step.ts";

/** After a longer write nothing is sent: the search for a lost create relies on the record's time. */
const STORE_MS = 30_000;

type CreateInput = Pick<Step, "shared" | "kind" | "account" | "endpoint" | "entry" | "memories"> & {
  left: Pick<Left, "endpoint" | "written">;
  context: Pick<ReconcileContext, "signal">;
};

/**
 * Creates the endpoint at most once (submitOnce). The record is stored with the finalizer, so that no deletion leaves an endpoint behind
 * unseen.
 * @returns the ID of the endpoint
 * @throws the error of a create that was not accepted; when its outcome is unknown, the create stays open
 */
export async function createEndpoint(input: CreateInput, desired: DesiredEndpoint): Promise<string> {
  const { shared, account, kind, endpoint, memories, context } = input;
  const { uid } = endpoint.metadata;
  const result = await submitOnce(shared, {
    uid,
    attempt: nextAttempt(input),
    operation: "createEndpoint",
    specHash: requestHash(desired, account),
    account: boundTo(account),
    keyVersion: account.keyVersion,
    object: recordedEndpoint(input),
    onStored(stored, record) {
      input.left.endpoint = stored;
      memories.begin(stored, record);
    },
    confirmServing: (signal) => shared.servers.confirm(account.key, signal),
    assertWanted: () => assertMaySubmit(shared, { kind, object: endpoint, account }),
    send: (options) => account.endpoints.create(desired, { ...options, group: endpoint.metadata.namespace }),
    maxStoreMs: STORE_MS,
    signal: context.signal,
  });
  note(input, result);
  if (result.kind === "Accepted") return result.value.id;
  throw result.error;
}

/** Each create of an object has a higher attempt than those before, so that a record that somebody restores is known as an old one. */
function nextAttempt({ endpoint, entry }: Pick<CreateInput, "endpoint" | "entry">): number {
  const attempts = [entry, createRecordOf(endpoint), endpoint.status?.submission].map((one) => one?.attempt ?? 0);
  return Math.max(...attempts) + 1;
}

function recordedEndpoint({ kind, endpoint }: CreateInput): RecordedObject<GpuEndpoint> {
  return {
    resource: kind.resource,
    latest: () => endpoint,
    write(object, record, signal) {
      const annotations = { [ANNOTATIONS.create]: textOf(record) };
      return kind.setFinalizer(object, needsFinalizer(object), signal, annotations);
    },
    shown: createRecordOf,
    // The next reconcile decides about the change.
    mayWrite: (object) => object === endpoint,
  };
}

/** What the result of a create means for the status and the memory. */
function note({ shared, endpoint, memories, left }: CreateInput, result: SubmitOnceResult<{ id: string }>): void {
  const shows = (state: Submission["state"]) => {
    left.written.submission = submissionOf(result.record, state, shared.clock.now());
  };
  if (result.kind === "Accepted") {
    memories.answered(endpoint, { endpointID: result.value.id });
    shows("Accepted");
  }
  if (result.kind === "Unusable") memories.answered(endpoint, { unusable: String(result.error) });
  if (result.kind === "Refused" || result.kind === "NotSent") memories.end(endpoint);
  if (result.kind === "Refused") shows("Refused");
  if (result.kind === "NotSent" && result.recorded) shows("NotSent");
}
