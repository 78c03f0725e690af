import { isDeepStrictEqual } from "node:util";
import { failure } from "./failures.ts";
import { isJson, type Json, type JsonValue, mergePatched, objectAt, textAt } from "./json.ts";
import type { KindRules } from "./schema.ts";
import { type Storage, versionOf } from "./storage.ts";

export type Target = { kind: KindRules; namespace: string | undefined; name: string; subresource: string | undefined };

export type ObjectsOptions = {
  storage: Storage;
  /** Milliseconds since the epoch. */
  now: () => number;
  uid: () => string;
  /** What rules of a kind refuse besides its schema. Default: nothing. */
  rules?: (kind: string, after: Json, before: Json | undefined) => string[];
  /** Whether the schemas of jobs lack `status.submission.sender`. Default: they have it. */
  prunes?: () => boolean;
  /** Ignores `metadata.resourceVersion` in writes of these resources: a test of what needs the lock. */
  unlocked?: (plural: string) => boolean;
};

/** Reads and writes of single objects, with the rules of the API server. */
export function createObjects({
  storage,
  now,
  uid,
  prunes = () => false,
  unlocked = () => false,
  rules = () => [],
}: ObjectsOptions) {
  const keyOf = ({ namespace, name }: Pick<Target, "namespace" | "name">) =>
    namespace === undefined ? name : `${namespace}/${name}`;
  const idOf = ({ group, plural }: KindRules) => `${plural}.${group}`;
  const titleOf = ({ kind, name }: Target) => `${kind.plural}${kind.group === "" ? "" : `.${kind.group}`} "${name}"`;
  const time = () => new Date(now()).toISOString().replace(/\.\d{3}Z$/, "Z");

  function present(target: Target): Json {
    const object = storage.get(idOf(target.kind), keyOf(target));
    if (object === undefined) throw failure.notFound(titleOf(target));
    return object;
  }

  function checked(target: Target, object: Json, before?: Json): Json {
    const { kind, subresource } = target;
    const normal = kind.normalized({ apiVersion: versionText(kind), kind: kind.kind, ...object });
    const problems = kind.problems(normal);
    const isJudged = subresource === undefined && !problems.some((problem) => BLOCKING.test(problem));
    if (isJudged) problems.push(...rules(kind.kind, normal, before));
    if (problems.length > 0) throw failure.invalid(titleOf(target), problems);
    if (kind.custom && prunes()) delete objectAt(normal["status"], "submission")["sender"];
    return normal;
  }

  /** UIDs of objects that are stored without the default of their status: the next write stores it, and is never equal. */
  const unwritten = new Set<string>();

  /** Replaces `before` by `after` as far as the request may change it. */
  function write(target: Target, before: Json, after: Json): Json {
    const { kind, subresource } = target;
    const given = objectAt(after, "metadata");
    const stored = objectAt(before, "metadata");
    const locked = textAt(after["metadata"], "resourceVersion");
    if (locked !== undefined && locked !== stored["resourceVersion"] && !unlocked(kind.plural)) {
      throw failure.conflict(titleOf(target));
    }
    if (given["uid"] !== undefined && given["uid"] !== stored["uid"]) throw failure.conflict(titleOf(target));
    if (kind.custom && subresource === "status") {
      const { status: _status, ...rest } = before;
      return store(target, checked(target, { ...rest, ...only(after, "status") }), before);
    }
    const system: string[] = [
      "uid",
      "creationTimestamp",
      "generation",
      "deletionTimestamp",
      "deletionGracePeriodSeconds",
    ];
    const metadata: Json = { ...given, ...pick(stored, system), name: target.name };
    for (const field of system) if (stored[field] === undefined) delete metadata[field];
    const { status: _status, ...rest } = after;
    const merged = kind.custom ? { ...rest, ...only(before, "status") } : after;
    const next = checked(target, { ...merged, metadata }, before);
    if (kind.custom && !isDeepStrictEqual(contentOf(before), contentOf(next))) {
      objectAt(next, "metadata")["generation"] = Number(stored["generation"] ?? 0) + 1;
    }
    return store(target, next, before);
  }

  function store(target: Target, object: Json, before?: Json): Json {
    const metadata = objectAt(object, "metadata");
    const { finalizers } = metadata;
    const isHeld = Array.isArray(finalizers) && finalizers.length > 0;
    if (!isHeld) delete metadata["finalizers"];
    if (metadata["deletionTimestamp"] !== undefined && !isHeld) {
      // Watches show the object as it was stored last.
      storage.remove(idOf(target.kind), keyOf(target), before ?? object);
      return object;
    }
    const always = unwritten.delete(textAt(metadata, "uid") ?? "");
    return storage.put(idOf(target.kind), keyOf(target), object, always);
  }

  return {
    idOf,
    get: (target: Target) => present(target),
    create(target: Target, body: Json): Json {
      const { kind } = target;
      if (storage.get(idOf(kind), keyOf(target)) !== undefined) throw failure.exists(titleOf(target));
      const { resourceVersion: _version, ...given } = objectAt(body, "metadata");
      const metadata: Json = { ...given, name: target.name, uid: uid(), creationTimestamp: time() };
      if (target.namespace !== undefined) metadata["namespace"] = target.namespace;
      if (kind.plural === "namespaces") {
        metadata["labels"] = { ...objectAt(given, "labels"), "kubernetes.io/metadata.name": target.name };
      }
      if (kind.custom) metadata["generation"] = 1;
      const { status: _status, ...rest } = body;
      const created = store(target, checked(target, { ...(kind.custom ? rest : body), metadata }));
      if (kind.custom) unwritten.add(textAt(created["metadata"], "uid") ?? "");
      return created;
    },
    update: (target: Target, body: Json): Json => write(target, present(target), body),
    patch(target: Target, patch: JsonValue): Json {
      const before = present(target);
      const { resourceVersion: _version, ...metadata } = objectAt(before, "metadata");
      const merged = mergePatched({ ...before, metadata }, patch);
      if (!isJson(merged)) throw failure.badRequest("a patch must be an object");
      return write(target, before, merged);
    },
    /** Returns the object when finalizers hold it, else undefined. */
    delete(target: Target, options: Json): Json | undefined {
      const before = present(target);
      const stored = objectAt(before, "metadata");
      const { uid: wantedUid, resourceVersion } = objectAt(options, "preconditions");
      if (wantedUid !== undefined && wantedUid !== stored["uid"]) throw failure.conflict(titleOf(target));
      if (resourceVersion !== undefined && Number(resourceVersion) !== versionOf(before)) {
        throw failure.conflict(titleOf(target));
      }
      if (!Array.isArray(stored["finalizers"])) {
        storage.remove(idOf(target.kind), keyOf(target), before);
        return undefined;
      }
      if (stored["deletionTimestamp"] !== undefined) return before;
      const metadata: Json = { ...stored, deletionTimestamp: time(), deletionGracePeriodSeconds: 0 };
      if (target.kind.custom) metadata["generation"] = Number(stored["generation"] ?? 0) + 1;
      return storage.put(idOf(target.kind), keyOf(target), { ...before, metadata });
    },
  };
}

/** After these, a real API server evaluates no rule. */
const BLOCKING = /must be of type|unsupported value|Required value|(length|items) must be at most/;

export const versionText = ({ group, version }: KindRules): string => (group === "" ? version : `${group}/${version}`);

/** What counts for the generation: all but metadata and status. */
function contentOf({ metadata: _metadata, status: _status, ...content }: Json): Json {
  return content;
}

function only(object: Json, key: string): Json {
  return object[key] === undefined ? {} : { [key]: object[key] };
}

function pick(object: Json, keys: readonly string[]): Json {
  return Object.fromEntries(Object.entries(object).filter(([key]) => keys.includes(key)));
}
