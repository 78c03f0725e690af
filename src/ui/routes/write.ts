import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { rfc3339 } from "../../base/clock.ts";
import { KubeError } from "../../kube/errors.ts";
import { effectOf, patchOf } from "../actions.ts";
import type { ClusterSession, Found, ObjectName } from "../cluster-session.ts";
import { CALL_METHODS } from "../endpoint-call.ts";
import {
  checkedManifest,
  checkedYaml,
  createObject,
  FIELD_MANAGER,
  manifestSchema,
  reviewOf,
  updateObject,
} from "../manifest.ts";
import type { UiOptions } from "../options.ts";
import { withPrice } from "../price.ts";
import { RequestError } from "../request-error.ts";
import { ENDPOINT_KIND } from "../row.ts";
import type { AppliedView, BulkResult, CallView, ManifestView, ReviewView } from "../view-types.ts";
import { objectOf, objectPathSchema } from "./request-object.ts";

const actionSchema = z.object({ action: z.string().max(64) });
/** `uid`: of the object that the user saw. Another one of the same name is not touched. */
const actionBodySchema = z.strictObject({ uid: z.string().max(64), input: z.string().max(512).default("") });
const bulkBodySchema = z.strictObject({
  action: z.enum(["suspend", "resume", "delete"]),
  objects: z.array(objectPathSchema.extend({ uid: z.string().max(64) })).max(500),
});
const uncheckedSchema = z.strictObject({ text: z.string().optional(), object: z.unknown().optional() });
const editSchema = z.strictObject({
  manifest: manifestSchema,
  uid: z.string().max(64),
  version: z.string().max(64),
});
const callPathSchema = objectPathSchema.omit({ kind: true });
const callSchema = z.strictObject({
  method: z.enum(CALL_METHODS),
  path: z
    .string()
    .max(2_000)
    .regex(/^\/[\x21-\x7e]*$/, "write a path such as /v1/models, without spaces"),
  contentType: z
    .string()
    .regex(/^[\x20-\x7e]{0,200}$/)
    .default("application/json"),
  body: z.string().default(""),
  withKey: z.boolean().default(false),
});
const keyOfManifest = (kind: string, { name, namespace = "" }: { name: string; namespace?: string | undefined }) => ({
  kind,
  namespace,
  name,
});
/** Writes of one bulk action that are under way at the same time. */
const AT_ONCE = 8;

/** Everything that the page changes. The guard has refused requests of other sites. */
export function addWriteRoutes(app: FastifyInstance, options: UiOptions): void {
  const { sessions, readOnly, clock, callEndpoint } = options;

  function assertWritable(): void {
    if (readOnly !== undefined) throw new RequestError(403, readOnly);
  }

  app.post("/api/objects/:kind/:namespace/:name/actions/:action", async ({ params, body, headers }) => {
    assertWritable();
    const session = await sessions.of(headers.authorization);
    const { uid, input } = actionBodySchema.parse(body);
    const found = knownObject(session, { ...objectPathSchema.parse(params), uid });
    const { action } = actionSchema.parse(params);
    await perform(session, found, { action, now: rfc3339(clock.now()), input: input.trim() });
    return {};
  });

  // A call wakes workers, which cost money.
  app.post("/api/calls/:namespace/:name", async ({ params, body, headers }, reply): Promise<CallView> => {
    assertWritable();
    const session = await sessions.of(headers.authorization);
    const { namespace, name } = callPathSchema.parse(params);
    const { object } = objectOf(session, { kind: ENDPOINT_KIND, namespace, name });
    const ending = new AbortController();
    reply.raw.once("close", () => ending.abort());
    return callEndpoint(session, object, callSchema.parse(body), ending.signal);
  });

  app.post("/api/bulk", async ({ body, headers }): Promise<BulkResult> => {
    assertWritable();
    const session = await sessions.of(headers.authorization);
    const { action, objects } = bulkBodySchema.parse(body);
    const failed: BulkResult["failed"] = [];
    const left = [...objects];
    async function work(): Promise<void> {
      for (let wanted = left.shift(); wanted !== undefined; wanted = left.shift()) {
        const { kind, namespace, name, uid } = wanted;
        try {
          await perform(session, knownObject(session, wanted), { action, now: rfc3339(clock.now()), input: "" });
        } catch (error) {
          if (!(error instanceof RequestError || error instanceof KubeError)) throw error;
          failed.push({ id: [kind, namespace, name, uid].join("/"), name, message: error.message });
        }
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return { done: objects.length - failed.length, failed };
  });

  // Checks and renders a manifest. It changes nothing, so a read-only page has it too.
  app.post("/api/manifests", async ({ body, headers }): Promise<ManifestView> => {
    const session = await sessions.of(headers.authorization);
    const { text, object } = uncheckedSchema.parse(body);
    return withPrice(session, text === undefined ? checkedManifest(object) : checkedYaml(text));
  });

  app.post("/api/reviews", async ({ body, headers }): Promise<ReviewView> => {
    assertWritable();
    const session = await sessions.of(headers.authorization);
    const edit = editSchema.parse(body);
    const { kind, metadata } = edit.manifest;
    return reviewOf(session.client, objectOf(session, keyOfManifest(kind, metadata)).object, edit);
  });

  app.post("/api/objects", async ({ body, headers }, reply): Promise<AppliedView> => {
    assertWritable();
    const { client } = await sessions.of(headers.authorization);
    const manifest = manifestSchema.parse(body);
    const [problem] = checkedManifest(manifest).problems;
    if (problem !== undefined) throw new RequestError(400, `${problem.path}: ${problem.message}`);
    await createObject(client, manifest);
    reply.code(201);
    return keyOfManifest(manifest.kind, manifest.metadata);
  });

  app.put("/api/objects", async ({ body, headers }): Promise<AppliedView> => {
    assertWritable();
    const { client } = await sessions.of(headers.authorization);
    const edit = editSchema.parse(body);
    await updateObject(client, edit, false);
    return keyOfManifest(edit.manifest.kind, edit.manifest.metadata);
  });
}

/** @throws RequestError when there is no such object any more */
function knownObject(session: ClusterSession, { uid, ...key }: ObjectName & { uid: string }): Found {
  const found = objectOf(session, key);
  if (uid === found.object.metadata.uid) return found;
  throw new RequestError(409, "The object was deleted and created again: look at the new one first");
}

type WantedAction = { action: string; now: string; input: string };

async function perform({ client }: ClusterSession, found: Found, { action, ...values }: WantedAction): Promise<void> {
  const { resource, object } = found;
  const { namespace, name, uid } = object.metadata;
  const effect = effectOf(action, resource.kind, object, values);
  if (effect === undefined) throw new RequestError(409, `${resource.kind} ${name} does not have this action now`);
  const place = { namespace, name };
  if (effect.kind === "Delete") return client.delete(resource, place, { body: { preconditions: { uid } } });
  // The UID makes the API server refuse an object that has replaced this one since.
  await client.mergePatch(resource, place, patchOf(effect, object.metadata), {
    query: { fieldManager: FIELD_MANAGER },
  });
}
