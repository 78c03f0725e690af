import { specProblem } from "../api/manifest/spec-problem.ts";
import { COMMANDS } from "../api/v1alpha1/commands.ts";
import type { EndpointEnv } from "../api/v1alpha1/gpu-endpoint.ts";
import { speechJobResource, videoJobResource } from "../api/v1alpha1/kinds.ts";
import type { Reason } from "../api/v1alpha1/reasons.ts";
import type { JobRef, SourceJob } from "../api/v1alpha1/video-job.ts";
import { ArtifactError } from "../artifacts/errors.ts";
import type { ArtifactStoreHandle, StoredLink } from "../artifacts/types.ts";
import { ownValue } from "../base/own-value.ts";
import { findObject, type KubeClient } from "../kube/client.ts";
import { isForbidden } from "../kube/errors.ts";
import { configMapResource, type Resource, secretResource } from "../kube/resource.ts";
import type { KubeObject } from "../kube/types.ts";
import type { Reference } from "../runtime/reference-poller.ts";
import type { StoreRegistry } from "./artifact-store/registry.ts";
import type { JobSources } from "./jobs/sources.ts";

type Data = KubeObject & { data?: Record<string, string> };

const REFERENCE_REASONS = ["SecretNotFound", "SecretKeyMissing", "ConfigMapNotFound", "ReadForbidden"] as const;

/** A value of the chart that grants the operator permissions in the namespaces that it lists. */
export type GrantingValue =
  | "rbac.secretNamespaces"
  | "rbac.exportNamespaces.configMaps"
  | "rbac.exportNamespaces.secrets";

/** How to grant the operator verbs on a resource in a namespace, for the message of a condition. */
export function howToGrant(resource: Resource, namespace: string, verbs: string, value: GrantingValue): string {
  return `add ${namespace} to ${value} in the values of the operator's chart, or grant the operator ${verbs} on ${resource.plural} in namespace ${namespace}`;
}

/** Whether an object that is Stalled for this reason continues when something that it refers to changes. */
export function waitsForReference(reason: string | undefined): boolean {
  return REFERENCE_REASONS.some((one) => one === reason);
}

/**
 * A person must act before the object can go on: its spec is invalid, or a reference of it does not lead to a value. `message` says what
 * to do. With the reason WaitingForSource, the object goes on without help.
 */
export class StalledError extends Error {
  override readonly name = "StalledError";
  readonly reason: Reason;
  constructor(reason: Reason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** @throws StalledError for a spec that no API server with the current CRDs takes */
export function assertValidSpec(resource: Resource, spec: object): void {
  const problem = specProblem(resource, spec);
  if (problem !== undefined) throw new StalledError("InvalidSpec", problem);
}

/** What values of a valid spec refer to, such as its environment, each object once or more. */
export function referencesOf(namespace: string, values: readonly Pick<EndpointEnv, "valueFrom">[]): Reference[] {
  return values.flatMap(({ valueFrom }) => {
    const { secretKeyRef, configMapKeyRef } = valueFrom ?? {};
    if (secretKeyRef !== undefined) return [{ resource: secretResource, namespace, name: secretKeyRef.name }];
    if (configMapKeyRef !== undefined) return [{ resource: configMapResource, namespace, name: configMapKeyRef.name }];
    return [];
  });
}

/** An object of an ArtifactStore in the namespace of the object that refers to it. */
export type StoreObject = { storeRef: { name: string }; key: string };

/** Longest text of an object, in bytes: above the longest text of a job. */
const OBJECT_BYTES = 4 * 1024 * 1024;

export type ValueReader = {
  /** A text in UTF-8. @throws StalledError when the store cannot be used, or has no such object */
  storeObject(namespace: string, object: StoreObject): Promise<string>;
  /** @throws StalledError as `storeObject`, and when the store is a volume */
  storeLink(namespace: string, object: StoreObject): Promise<StoredLink>;
  /** A job whose result another job takes. */
  job(namespace: string, ref: JobRef): Promise<SourceJob | undefined>;
  /** Of a time of a status. Without a clock, as in a command line, none is. */
  isPast(time: string): boolean;
  /** @throws StalledError when the Secret or its key is missing or may not be read */
  secretKey(namespace: string, ref: { name: string; key: string }): Promise<string>;
  configMapKey(namespace: string, ref: { name: string; key: string }): Promise<string>;
};

/** Reads nothing: `error` says why. */
export function readerWithout(error: Error): ValueReader {
  const unread = () => Promise.reject(error);
  const texts = { secretKey: unread, configMapKey: unread, storeObject: unread };
  return { ...texts, storeLink: unread, job: unread, isPast: () => false };
}

/**
 * Reads values by `get` only; each object once for the life of the reader (one reconcile).
 * Without `stores`, as in a command line, objects of stores cannot be read. Without `jobs`, they are read by `get`.
 */
export function createValueReader(
  kube: KubeClient,
  signal: AbortSignal,
  { stores, jobs }: { stores?: Pick<StoreRegistry, "resolve">; jobs?: JobSources } = {},
): ValueReader {
  const read = new Map<string, Promise<Data | undefined>>();
  const wanted = new Map<string, Set<string>>();

  function object(resource: Resource, namespace: string, name: string): Promise<Data | undefined> {
    const key = `${resource.kind}/${namespace}/${name}`;
    const known = read.get(key) ?? fetchData(resource, namespace, name);
    read.set(key, known);
    return known;
  }

  async function fetchData(resource: Resource, namespace: string, name: string): Promise<Data | undefined> {
    try {
      return await findObject<Data>(kube, resource, { namespace, name }, { signal });
    } catch (error) {
      if (!isForbidden(error)) throw error;
      throw new StalledError(
        "ReadForbidden",
        `the operator may not read ${resource.kind} ${namespace}/${name}: ${howToGrant(resource, namespace, "get", "rbac.secretNamespaces")}`,
      );
    }
  }

  async function value(resource: Resource, namespace: string, name: string, key: string): Promise<string> {
    const target = { kind: resource.kind, namespace, name };
    // Whoever reads several keys at once is told all of them.
    const keys = wanted.get(`${resource.kind}/${namespace}/${name}`) ?? new Set();
    wanted.set(`${resource.kind}/${namespace}/${name}`, keys.add(key));
    const found = await object(resource, namespace, name);
    if (found === undefined) {
      const reason = resource === secretResource ? "SecretNotFound" : "ConfigMapNotFound";
      const create = COMMANDS.createData(target, [...keys]);
      throw new StalledError(reason, `${resource.kind} ${namespace}/${name} does not exist: create it: ${create}`);
    }
    const written = ownValue(found.data, key);
    if (written !== undefined) return written;
    const add = COMMANDS.addKey(target, key);
    throw new StalledError(
      "SecretKeyMissing",
      `${resource.kind} ${namespace}/${name} has no key "${key}": add it: ${add}`,
    );
  }

  return {
    async secretKey(namespace, { name, key }) {
      return Buffer.from(await value(secretResource, namespace, name, key), "base64").toString("utf8");
    },
    configMapKey: (namespace, { name, key }) => value(configMapResource, namespace, name, key),
    async storeObject(namespace, object) {
      const store = usableStore(stores, namespace, object);
      return present(store.name, () => textOf(store, object.key, signal));
    },
    async storeLink(namespace, object) {
      const store = usableStore(stores, namespace, object);
      return present(store.name, () => linkOf(store, object.key, signal));
    },
    async job(namespace, ref) {
      if (jobs !== undefined) return jobs.find(namespace, ref);
      const resource = ref.kind === speechJobResource.kind ? speechJobResource : videoJobResource;
      return findObject<SourceJob>(kube, resource, { namespace, name: ref.name }, { signal });
    },
    isPast: (time) => jobs !== undefined && Date.parse(time) <= jobs.now(),
  };
}

/** The store of an object, and the name of the object in messages. @throws StalledError */
function usableStore(
  stores: Pick<StoreRegistry, "resolve"> | undefined,
  namespace: string,
  { storeRef, key }: StoreObject,
): { store: ArtifactStoreHandle; name: string } {
  const name = `${key} of ArtifactStore ${namespace}/${storeRef.name}`;
  if (stores === undefined) throw new StalledError("ReadForbidden", `only the operator reads ${name}`);
  const resolved = stores.resolve(namespace, storeRef);
  if (resolved.kind === "Checking") throw new StalledError("StoreNotReady", `${name}: the store is not checked yet`);
  if (resolved.kind === "Held") throw new StalledError(resolved.reason, resolved.message);
  return { store: resolved.store, name };
}

async function present<T>(name: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof ArtifactError) || error.kind !== "NotFound") throw error;
    throw new StalledError("ObjectNotFound", `${name} does not exist: upload it`);
  }
}

async function textOf({ store, name }: ReturnType<typeof usableStore>, key: string, signal: AbortSignal) {
  const opened = await store.read(key, { start: 0, end: undefined }, signal);
  if (opened === undefined) return "";
  try {
    const tooLong = new StalledError("InvalidSpec", `${name} has more than ${OBJECT_BYTES} bytes: divide the text`);
    if (opened.totalBytes > OBJECT_BYTES) throw tooLong;
    const chunks: Uint8Array[] = [];
    for await (const chunk of opened.chunks) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  } finally {
    await opened.close();
  }
}

async function linkOf({ store, name }: ReturnType<typeof usableStore>, key: string, signal: AbortSignal) {
  const link = await store.link(key, signal);
  if (link !== undefined) return link;
  const why = "has no URL for the service, because its store is a volume";
  throw new StalledError("InvalidSpec", `${name} ${why}: name an ArtifactStore with s3 in storeRef`);
}

const VALUE_LENGTH = 4095;

/**
 * The environment with every reference replaced by its value; `secret` marks those.
 * @throws StalledError that lists all that is missing, with the reason of the first
 */
export async function resolveEnv(
  reader: ValueReader,
  namespace: string,
  env: readonly EndpointEnv[],
): Promise<{ name: string; value: string; secret: boolean }[]> {
  const found = await Promise.allSettled(
    env.map(async ({ name, value, valueFrom }) => {
      if (valueFrom === undefined) return { name, value: value ?? "", secret: false };
      const { secretKeyRef, configMapKeyRef } = valueFrom;
      const found =
        secretKeyRef !== undefined
          ? await reader.secretKey(namespace, secretKeyRef)
          : configMapKeyRef === undefined
            ? ""
            : await reader.configMapKey(namespace, configMapKeyRef);
      if (found.length > VALUE_LENGTH) {
        throw new StalledError(
          "InvalidSpec",
          `env ${name}: the value has ${found.length} characters, allowed are ${VALUE_LENGTH}: shorten it`,
        );
      }
      return { name, value: found, secret: true };
    }),
  );
  const missing = found.flatMap((one) =>
    one.status === "rejected" && one.reason instanceof StalledError ? [one.reason] : [],
  );
  const [first] = missing;
  if (first !== undefined) {
    throw new StalledError(first.reason, [...new Set(missing.map(({ message }) => message))].join("; "));
  }
  return found.map((one) => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  });
}
