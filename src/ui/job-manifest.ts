import * as z from "zod";
import { manifestProblems } from "../api/manifest/manifest-problems.ts";
import { KINDS } from "../api/v1alpha1/kinds.ts";
import { API_VERSION } from "../api/v1alpha1/meta.ts";
import { manifestYaml } from "../base/manifest-yaml.ts";
import type { KubeClient } from "../kube/client.ts";
import type { KubeObject } from "../kube/types.ts";
import { JOB_KINDS } from "./row.ts";
import type { JobForm, ManifestView } from "./view-types.ts";

/** What the form of the page sends. The spec is checked by the rules of the CRD. */
export const jobFormSchema = z.strictObject({
  kind: z.enum(JOB_KINDS),
  name: z.string().max(253),
  namespace: z.string().max(63),
  spec: z.record(z.string(), z.unknown()),
});

/** The field manager of everything that the page writes. */
export const FIELD_MANAGER = "mooring-ui";

/** The manifest that the form makes, and what is wrong with it. */
export function jobManifest(form: JobForm): ManifestView {
  const object = objectOf(form);
  const problems = (manifestProblems(object) ?? []).map(({ path, message }) => ({ path: path.join("."), message }));
  return { yaml: manifestYaml(object, []), problems };
}

/** Creates the job. An existing object of this name is an error: a job is paid for. */
export async function createJob(client: KubeClient, form: JobForm): Promise<KubeObject> {
  const { namespace, kind } = form;
  const definition = KINDS.find(({ resource }) => resource.kind === kind);
  if (definition === undefined) throw new Error(`there is no kind ${kind}`);
  return client.create(definition.resource, { namespace }, objectOf(form), { query: { fieldManager: FIELD_MANAGER } });
}

function objectOf({ kind, name, namespace, spec }: JobForm) {
  return { apiVersion: API_VERSION, kind, metadata: { name, namespace }, spec };
}
