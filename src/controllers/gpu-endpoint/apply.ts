import { randomUUID } from "node:crypto";
import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { Submission } from "../../api/v1alpha1/meta.ts";
import { rfc3339 } from "../../clock.ts";
import { ServiceError } from "../../provider/errors.ts";
import type { ReconcileContext } from "../../runtime/controller.ts";
import type { AccountHandle } from "../account/registry.ts";
import { assertPresent, type Kind, type Shared } from "../shared.ts";
import { type DesiredEndpoint, requestHash } from "./desired.ts";

export type Created = { endpointID: string; submission: Submission };

/** A commit that took longer is not sent after: the lookup of a lost create counts on the intent's time. */
const COMMIT_MS = 30_000;

/**
 * Creates the endpoint under the journal's protocol: intent committed, then sent, then the outcome recorded. The entry
 * stays until the caller has the endpoint id in the status.
 * @throws ServiceError; when it cannot be known whether the service took the request, the intent stays in the journal
 */
export async function createEndpoint(
  shared: Shared,
  account: AccountHandle,
  kind: Kind<GpuEndpoint>,
  endpoint: GpuEndpoint,
  desired: DesiredEndpoint,
  { signal }: ReconcileContext,
): Promise<Created> {
  const { journal, clock } = shared;
  const { name, namespace, uid = "" } = endpoint.metadata;
  const id = randomUUID();
  const specHash = requestHash(desired);
  const attempt = (endpoint.status?.submission?.attempt ?? 0) + 1;
  let began = 0;
  let sent = false;
  try {
    const created = await account.endpoints.create(desired, {
      signal,
      commit: async () => {
        assertPresent(kind, endpoint); // the rate limit may have made it wait for long
        began = clock.monotonic();
        const time = rfc3339(clock.now());
        const key = `${namespace}/${name}`;
        await journal.commit(
          { id, kind: "GpuEndpoint", key, uid, operation: "createEndpoint", attempt, specHash, time },
          signal,
        );
      },
      beforeSend: async () => {
        const seconds = (clock.monotonic() - began) / 1000;
        if (seconds * 1000 > COMMIT_MS) throw new Error(`the journal took ${seconds} s for an intent: nothing is sent`);
        shared.assertLeading();
        sent = true;
      },
    });
    journal.record(id, { endpointID: created.id });
    return {
      endpointID: created.id,
      submission: { id, specHash, attempt, state: "Accepted", time: rfc3339(clock.now()) },
    };
  } catch (error) {
    if (!sent || (error instanceof ServiceError && error.delivery !== "Unknown")) journal.settle(id);
    throw error;
  }
}

/** Idempotent; sent only while this process surely leads. */
export async function updateEndpoint(
  shared: Shared,
  account: AccountHandle,
  endpointID: string,
  desired: DesiredEndpoint,
  { signal }: ReconcileContext,
): Promise<void> {
  await account.endpoints.update(endpointID, desired, {
    signal,
    beforeSend: async () => shared.assertLeading(),
  });
}
