import { createHash } from "node:crypto";
import { parseDocument } from "yaml";
import * as z from "zod";
import { manifestProblems } from "../api/manifest/manifest-problems.ts";
import { KINDS } from "../api/v1alpha1/kinds.ts";
import { API_VERSION } from "../api/v1alpha1/meta.ts";
import { manifestYaml } from "../base/manifest-yaml.ts";
import type { KubeClient } from "../kube/client.ts";
import { KubeError } from "../kube/errors.ts";
import type { Resource } from "../kube/resource.ts";
import type { KubeObject } from "../kube/types.ts";
import { RequestError } from "./request-error.ts";
import type { UiObject } from "./ui-object.ts";
import type { ManifestProblemView, ManifestView, ReviewView } from "./view-types.ts";

/** The field manager of everything that the page writes. */
export const FIELD_MANAGER = "mooring-ui";

/** A manifest as the page sends it: metadata that a user writes, and the spec. The rules of the CRD check it. */
export const manifestSchema = z.strictObject({
  apiVersion: z.literal(API_VERSION),
  kind: z.enum(KINDS.map(({ resource }) => resource.kind)),
  metadata: z.strictObject({
    name: z.string().max(253),
    namespace: z.string().max(63).optional(),
    labels: z.record(z.string(), z.string()).optional(),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
  spec: z.record(z.string(), z.unknown()),
});
type Manifest = z.output<typeof manifestSchema>;

/** What a user writes of an object: to edit it, or to make another one like it. */
export function manifestOf(kind: string, { metadata, spec }: UiObject): Manifest {
  const { name, namespace, labels } = metadata;
  return manifestSchema.parse({
    apiVersion: API_VERSION,
    kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), ...(labels === undefined ? {} : { labels }) },
    spec,
  });
}

/** The manifest as YAML, and what is wrong with it. */
export function checkedManifest(manifest: unknown): ManifestView {
  const problems = (manifestProblems(manifest) ?? []).map(({ path, message }) => ({ path: path.join("."), message }));
  const object = typeof manifest === "object" && manifest !== null ? manifest : {};
  return { yaml: manifestYaml(object, []), object, problems };
}

/** As `checkedManifest`, of YAML that the user typed. */
export function checkedYaml(text: string): ManifestView {
  const document = parseDocument(text, { uniqueKeys: true });
  const [error] = document.errors;
  if (error !== undefined) return { yaml: text, problems: [{ path: "", message: error.message }] };
  return { ...checkedManifest(document.toJS({ maxAliasCount: 0 })), yaml: text };
}

/** Creates the object. An existing one of this name is an error: a job is paid for. */
export function createObject(client: KubeClient, manifest: Manifest): Promise<KubeObject> {
  const { namespace, labels, annotations, name } = manifest.metadata;
  const metadata = {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
  };
  const query = { fieldManager: FIELD_MANAGER };
  return client.create(resourceOf(manifest), { namespace }, { ...manifest, metadata }, { query });
}

/** `version`: of what the user read. */
export type Edit = { manifest: Manifest; uid: string; version: string };

/** Changes with what a user writes of an object. A write of its status changes nothing, so it refuses no edit. */
export function versionOf(kind: string, object: UiObject): string {
  return createHash("sha256")
    .update(JSON.stringify(manifestOf(kind, object)))
    .digest("base64");
}

/** Writes of the status that an update may meet. */
const MAX_ATTEMPTS = 5;

/**
 * Replaces labels and spec of the object that the user read. After another change of what the user writes, it is a conflict. A write of
 * its status between the read and the update is none: the update is repeated.
 */
export async function updateObject(client: KubeClient, edit: Edit, dryRun: boolean): Promise<UiObject> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await updateOnce(client, edit, dryRun);
    } catch (error) {
      const isConflict = error instanceof KubeError && error.status === 409;
      if (!isConflict || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

async function updateOnce(client: KubeClient, edit: Edit, dryRun: boolean): Promise<UiObject> {
  const resource = resourceOf(edit.manifest);
  const { name, namespace, labels } = edit.manifest.metadata;
  const current = await client.get<UiObject>(resource, { namespace, name });
  if (current.metadata.uid !== edit.uid || versionOf(resource.kind, current) !== edit.version) {
    throw new RequestError(409, "The object has changed since you opened it: open it again, and repeat your change");
  }
  const metadata = { ...current.metadata, ...(labels === undefined ? {} : { labels }) };
  const query = { fieldManager: FIELD_MANAGER, ...(dryRun ? { dryRun: "All" } : {}) };
  return client.update(resource, { namespace, name }, { ...current, metadata, spec: edit.manifest.spec }, { query });
}

/** What an edit changes, as the API server would store it: with its defaults, and checked by all of its rules. */
export async function reviewOf(client: KubeClient, current: UiObject, edit: Edit): Promise<ReviewView> {
  const { kind } = edit.manifest;
  const before = manifestYaml(manifestOf(kind, current), []);
  try {
    const stored = await updateObject(client, edit, true);
    return { before, after: manifestYaml(manifestOf(kind, stored), []), problems: [] };
  } catch (error) {
    const problems = error instanceof KubeError ? problemsOf(error) : [];
    if (problems.length === 0) throw error;
    return { before, after: before, problems };
  }
}

/** What the API server refuses, by field: `KIND "NAME" is invalid: [spec.text: Required value: ..., spec.model: ...]`. */
export function problemsOf({ status, message }: KubeError): ManifestProblemView[] {
  const list = / is invalid: \[?(.*?)\]?$/s.exec(message)?.[1];
  if (status !== 422 || list === undefined) return [];
  return list.split(/, (?=(?:spec|metadata)\b[^ ]*: )/).map((problem) => {
    const [, path = "", text = problem] = /^((?:spec|metadata)[^ ]*): (.*)$/s.exec(problem) ?? [];
    return { path: path.replaceAll(/\[(\d+)\]/g, ".$1"), message: text };
  });
}

function resourceOf({ kind }: Manifest): Resource {
  const definition = KINDS.find(({ resource }) => resource.kind === kind);
  if (definition === undefined) throw new RequestError(400, `there is no kind ${kind}`);
  return definition.resource;
}
