import { isRecord, ownValue } from "../../../base/own-value.ts";
import type { KubeClient } from "../../../kube/client.ts";
import { isForbidden, isNotFound, KubeError } from "../../../kube/errors.ts";
import type { Resource } from "../../../kube/resource.ts";
import type { KubeObject } from "../../../kube/types.ts";

/** What an apply of a manifest makes of an object. */
export type AppliedObject<T extends KubeObject> =
  /** `live`: the object before; undefined: it is new. `checked`: the API server has accepted it in a dry run. */
  { kind: "Accepted"; object: T; live: T | undefined; checked: boolean } | { kind: "Refused"; message: string };

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";
const DRY_RUN = { query: { dryRun: "All" } };

/**
 * The object as it would be after `kubectl apply`, by a dry run of the API server: with its defaults, its rules, those about
 * immutable fields included, and admission policies. Without permission to write, this is the manifest without defaults.
 */
export async function appliedObject<T extends KubeObject>(
  kube: Pick<KubeClient, "get" | "create" | "update">,
  resource: Resource,
  manifest: T,
): Promise<AppliedObject<T>> {
  const { namespace, name } = manifest.metadata;
  const live = await kube.get<T>(resource, { namespace, name }).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
  const wanted = live === undefined ? manifest : afterApply(live, manifest);
  try {
    const object =
      live === undefined
        ? await kube.create<T>(resource, { namespace }, wanted, DRY_RUN)
        : await kube.update<T>(resource, { namespace, name }, wanted, DRY_RUN);
    return { kind: "Accepted", object, live, checked: true };
  } catch (error) {
    if (isForbidden(error) && !isAdmission(error)) return { kind: "Accepted", object: wanted, live, checked: false };
    if (error instanceof KubeError && error.status >= 400 && error.status < 500) {
      return { kind: "Refused", message: error.message };
    }
    throw error;
  }
}

/** A policy that refuses the object answers 403 as well. */
function isAdmission(error: unknown): boolean {
  return error instanceof Error && /admission|ValidatingAdmissionPolicy/i.test(error.message);
}

/** The object that `kubectl apply` sends: fields of other clients stay unless the manifest has them or had them before. */
export function afterApply<T extends KubeObject>(live: T, manifest: T): T {
  const last = ownValue(live.metadata.annotations, LAST_APPLIED);
  const before = record(last === undefined ? undefined : JSON.parse(last))?.["spec"];
  return {
    ...live,
    metadata: {
      ...live.metadata,
      labels: { ...live.metadata.labels, ...manifest.metadata.labels },
      annotations: { ...live.metadata.annotations, ...manifest.metadata.annotations },
    },
    spec: merged(live.spec, manifest.spec, before),
  };
}

/** Lists are replaced. A field that the manifest had before, and has no more, is removed. */
function merged(live: unknown, manifest: unknown, before: unknown): unknown {
  const [own, wanted, former] = [record(live), record(manifest), record(before)];
  if (own === undefined || wanted === undefined) return manifest;
  const result: Record<string, unknown> = { ...own };
  for (const key of Object.keys(former ?? {})) if (!Object.hasOwn(wanted, key)) delete result[key];
  for (const [key, value] of Object.entries(wanted)) {
    if (value === null) delete result[key];
    else result[key] = merged(ownValue(own, key), value, ownValue(former, key));
  }
  return result;
}

function record(value: unknown): Record<string, unknown> | undefined {
  return isRecord(value) ? Object.fromEntries(Object.entries(value)) : undefined;
}
