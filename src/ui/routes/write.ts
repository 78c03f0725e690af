import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { rfc3339 } from "../../base/clock.ts";
import { effectOf, patchOf } from "../actions.ts";
import type { ClusterSession, Found } from "../cluster-session.ts";
import { createJob, FIELD_MANAGER, jobFormSchema, jobManifest } from "../job-manifest.ts";
import type { UiOptions } from "../options.ts";
import { RequestError } from "../request-error.ts";
import { requestedObject } from "./request-object.ts";

const actionSchema = z.object({ action: z.string().max(64) });
/** `uid`: of the object that the user saw. Another one of the same name is not touched. */
const actionBodySchema = z.strictObject({ uid: z.string().max(64) });

/** Everything that the page changes. The guard has refused requests of other sites. */
export function addWriteRoutes(app: FastifyInstance, { sessions, readOnly, clock }: UiOptions): void {
  function assertWritable(): void {
    if (readOnly !== undefined) throw new RequestError(403, readOnly);
  }

  app.post("/api/objects/:kind/:namespace/:name/actions/:action", async ({ params, body, headers }) => {
    assertWritable();
    const session = await sessions.of(headers.authorization);
    const found = requestedObject(session, params);
    const { uid } = actionBodySchema.parse(body);
    if (uid !== found.object.metadata.uid) {
      throw new RequestError(409, "The object was deleted and created again: look at the new one first");
    }
    const { action } = actionSchema.parse(params);
    await perform(session, found, { action, value: rfc3339(clock.now()) });
    return {};
  });

  // Checks and renders a manifest. It changes nothing, so a read-only page has it too.
  app.post("/api/manifests", async ({ body, headers }) => {
    await sessions.of(headers.authorization);
    return jobManifest(jobFormSchema.parse(body));
  });

  app.post("/api/jobs", async ({ body, headers }, reply) => {
    assertWritable();
    const session = await sessions.of(headers.authorization);
    const form = jobFormSchema.parse(body);
    const [problem] = jobManifest(form).problems;
    if (problem !== undefined) throw new RequestError(400, `${problem.path}: ${problem.message}`);
    const { metadata } = await createJob(session.client, form);
    return reply.code(201).send({ kind: form.kind, namespace: metadata.namespace, name: metadata.name });
  });
}

type WantedAction = { action: string; value: string };

async function perform({ client }: ClusterSession, found: Found, { action, value }: WantedAction): Promise<void> {
  const { resource, object } = found;
  const { namespace, name, uid } = object.metadata;
  const effect = effectOf(action, resource.kind, object, value);
  if (effect === undefined) throw new RequestError(409, `${resource.kind} ${name} does not have this action now`);
  const place = { namespace, name };
  if (effect.kind === "Delete") return client.delete(resource, place, { body: { preconditions: { uid } } });
  // The UID makes the API server refuse an object that has replaced this one since.
  await client.mergePatch(resource, place, patchOf(effect, uid), { query: { fieldManager: FIELD_MANAGER } });
}
