import { randomUUID } from "node:crypto";
import type { GpuEndpoint } from "../../api/gpu-endpoint.ts";
import type { Submission } from "../../api/meta.ts";
import { rfc3339 } from "../../clock.ts";
import type { ReconcileContext } from "../../runtime/controller.ts";
import { ServiceError } from "../../service/errors.ts";
import type { AccountHandle } from "../account/registry.ts";
import { hashOf } from "../hash.ts";
import type { Shared } from "../shared.ts";
import { createBody, type DesiredEndpoint, updateBody } from "./desired.ts";

export type Created = { endpointID: string; submission: Submission };

/**
 * Creates the endpoint under the journal's protocol: intent committed, then sent, then the outcome recorded. The entry
 * stays until the caller has the endpoint id in the status.
 * @throws ServiceError; with delivery Unknown the intent stays in the journal, unresolved
 */
export async function createEndpoint(
  shared: Shared,
  account: AccountHandle,
  endpoint: GpuEndpoint,
  desired: DesiredEndpoint,
  { signal }: ReconcileContext,
): Promise<Created> {
  const { journal, clock } = shared;
  const { name, namespace, uid = "" } = endpoint.metadata;
  const body = createBody(desired);
  const attempt = (endpoint.status?.submission?.attempt ?? 0) + 1;
  const intent = {
    id: randomUUID(),
    kind: "GpuEndpoint",
    key: `${namespace}/${name}`,
    uid,
    operation: "createEndpoint",
    attempt,
    specHash: hashOf(body),
    time: rfc3339(clock.now()),
  };
  try {
    const { id } = await account.client.createEndpoint(body, {
      signal,
      beforeSend: async () => {
        await journal.commit(intent, signal);
        shared.assertLeading();
      },
    });
    journal.record(intent.id, { endpointID: id });
    return {
      endpointID: id,
      submission: {
        id: intent.id,
        specHash: intent.specHash,
        attempt,
        state: "Accepted",
        time: rfc3339(clock.now()),
      },
    };
  } catch (error) {
    if (!(error instanceof ServiceError) || error.delivery !== "Unknown") journal.settle(intent.id);
    throw error;
  }
}

/** Idempotent: a full body, sent only while this process surely leads. */
export async function updateEndpoint(
  shared: Shared,
  account: AccountHandle,
  endpointID: string,
  desired: DesiredEndpoint,
  { signal }: ReconcileContext,
): Promise<void> {
  try {
    await account.client.updateEndpoint(updateBody(endpointID, desired), {
      signal,
      beforeSend: async () => shared.assertLeading(),
    });
  } finally {
    // Whether or not the answer came.
    account.endpoints.wrote(endpointID);
    account.details?.forget(endpointID);
  }
}
